#include "guestagent/agent/gid.hpp"

#include <spdlog/fmt/fmt.h>
#include <boost/asio/ip/address.hpp>

namespace rdmove::agent {

std::string gid_of_address(const std::string& address) {
  boost::system::error_code error;
  const auto ip = boost::asio::ip::make_address(address.substr(0, address.find('/')), error);
  if (error) return {};
  const auto v6 =
      ip.is_v4() ? boost::asio::ip::make_address_v6(boost::asio::ip::v4_mapped, ip.to_v4()) : ip.to_v6();
  const auto bytes = v6.to_bytes();
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    out += fmt::format("{}{:02x}{:02x}", i == 0 ? "" : ":", bytes[i], bytes[i + 1]);
  }
  return out;
}

}  // namespace rdmove::agent
