#include "coordinator/service/tls.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace rdmove {
namespace {

Result<std::string> slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file || text.str().empty()) {
    return failure(ErrorCode::kNotFound, "read the TLS file " + path,
                   errno != 0 ? std::strerror(errno) : "it is empty",
                   "Set it under [partner_api.tls], or set insecure = true for a laboratory.");
  }
  return text.str();
}

}  // namespace

Result<std::shared_ptr<grpc::ChannelCredentials>> clientCredentials(const Config& config) {
  if (config.insecure || config.partners.empty()) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  for (auto [path, into] : {std::pair{&config.tls.ca, &options.pem_root_certs},
                            std::pair{&config.tls.client_cert, &options.pem_cert_chain},
                            std::pair{&config.tls.client_key, &options.pem_private_key}}) {
    auto text = slurp(*path);
    if (!text) return tl::unexpected(text.error());
    *into = std::move(*text);
  }
  return grpc::SslCredentials(options);
}

Result<std::shared_ptr<grpc::ServerCredentials>> serverCredentials(const Config& config) {
  if (config.insecure) return grpc::InsecureServerCredentials();
  const auto ca = slurp(config.tls.ca);
  const auto cert = slurp(config.tls.server_cert);
  const auto key = slurp(config.tls.server_key);
  for (const auto* text : {&ca, &cert, &key}) {
    if (!*text) return tl::unexpected(text->error());
  }
  grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = *ca;
  options.pem_key_cert_pairs.push_back({*key, *cert});
  return grpc::SslServerCredentials(options);
}

}  // namespace rdmove
