#include "shadowdev/gsi/mad.hpp"

namespace rdmove::gsi {

std::optional<Method> response_to(Method request) {
  switch (request) {
    case Method::Get:
    case Method::Set:
      return Method::GetResp;
    case Method::Report:
      return Method::ReportResp;
    case Method::GetTable:
    case Method::GetTraceTable:
      return Method::GetTableResp;
    case Method::GetMulti:
      return Method::GetMultiResp;
    case Method::Delete:
      return Method::DeleteResp;
    default:
      return std::nullopt;
  }
}

std::optional<Mad> Mad::from(std::span<const std::byte> bytes) {
  if (bytes.size() != kBytes) return std::nullopt;
  Mad mad;
  std::copy(bytes.begin(), bytes.end(), mad.bytes_.begin());
  if (mad.base_version() != 1) return std::nullopt;
  return mad;
}

Mad Mad::make(ManagementClass of, std::uint8_t class_version, Method method, std::uint16_t attribute) {
  Mad mad;
  mad.set_field<0>(std::uint8_t{1});
  mad.set_field<1>(static_cast<std::uint8_t>(of));
  mad.set_field<2>(class_version);
  mad.set_method(method);
  mad.set_field<16>(attribute);
  return mad;
}

Datagram answer_to(const Datagram& received, const Mad& answer) {
  Datagram back = received;
  back.mad = answer;
  if (back.grh) std::swap(back.grh->source, back.grh->destination);
  return back;
}

}  // namespace rdmove::gsi
