#include "shadowdev/gsi/sa.hpp"

namespace rdmove::gsi {
namespace {

std::uint8_t low6(std::uint8_t byte) {
  return byte & 0x3FU;
}
std::uint8_t high2(std::uint8_t byte) {
  return byte >> 6U;
}
std::uint8_t join(std::uint8_t selector, std::uint8_t value) {
  return static_cast<std::uint8_t>(selector << 6U | low6(value));
}

}  // namespace

Mad refusal_of(const Mad& request, SaStatus status) {
  Mad answer = request;
  if (const auto method = response_to(request.method())) answer.set_method(*method);
  answer.set_status(static_cast<std::uint16_t>(status));
  // A refused subscription comes back with Subscribe 0 (o13-13.1.1 of the specification).
  if (request.attribute() == attribute::kInformInfo) answer.set_field<kSaDataOffset + 23>(std::uint8_t{0});
  return answer;
}

McMemberRecord McMemberRecord::read(std::span<const std::byte, kBytes> bytes) {
  McMemberRecord record;
  record.group = Gid(get_bytes<0, 16>(bytes));
  record.port = Gid(get_bytes<16, 16>(bytes));
  record.queue_key = get<32, std::uint32_t>(bytes);
  record.multicast_lid = get<36, std::uint16_t>(bytes);
  record.mtu_selector = high2(get<38, std::uint8_t>(bytes));
  record.mtu = low6(get<38, std::uint8_t>(bytes));
  record.traffic_class = get<39, std::uint8_t>(bytes);
  record.partition_key = get<40, std::uint16_t>(bytes);
  record.rate_selector = high2(get<42, std::uint8_t>(bytes));
  record.rate = low6(get<42, std::uint8_t>(bytes));
  record.life_time_selector = high2(get<43, std::uint8_t>(bytes));
  record.life_time = low6(get<43, std::uint8_t>(bytes));
  const auto route = get<44, std::uint32_t>(bytes);
  record.service_level = static_cast<std::uint8_t>(route >> 28U);
  record.flow_label = route >> 8U & 0xFFFFFU;
  record.hop_limit = static_cast<std::uint8_t>(route);
  record.scope = get<48, std::uint8_t>(bytes) >> 4U;
  record.join_state = JoinState(get<48, std::uint8_t>(bytes));
  record.proxy_join = (get<49, std::uint8_t>(bytes) & 0x80U) != 0;
  return record;
}

void McMemberRecord::write(std::span<std::byte, kBytes> bytes) const {
  put_bytes<0>(bytes, group.bytes());
  put_bytes<16>(bytes, port.bytes());
  put<32>(bytes, queue_key);
  put<36>(bytes, multicast_lid);
  put<38>(bytes, join(mtu_selector, mtu));
  put<39>(bytes, traffic_class);
  put<40>(bytes, partition_key);
  put<42>(bytes, join(rate_selector, rate));
  put<43>(bytes, join(life_time_selector, life_time));
  put<44>(bytes, std::uint32_t{service_level} << 28U | (flow_label & 0xFFFFFU) << 8U | hop_limit);
  put<48>(bytes, static_cast<std::uint8_t>(scope << 4U | join_state.bits()));
  put<49>(bytes, static_cast<std::uint8_t>(proxy_join ? 0x80U : 0U));
  put<50>(bytes, std::uint16_t{0});
}

}  // namespace rdmove::gsi
