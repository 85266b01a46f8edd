// What rdma-beat sends: a numbered message whose every byte follows from its run and number, so that either
// end can tell a wrong, torn or misplaced one. Sent as it lies in memory: both ends are the same program on
// the same machine.
#pragma once

#include <array>
#include <cstdint>

namespace beat {

struct Message {
  static constexpr std::uint32_t kMagic = 0x72626561;

  std::uint32_t magic = kMagic;
  std::uint32_t reserved = 0;
  std::uint64_t run = 0;     ///< random per client process
  std::uint64_t number = 0;  ///< from 1
  std::array<std::uint8_t, 232> contents{};
};
static_assert(sizeof(Message) == 256);

Message make_message(std::uint64_t run, std::uint64_t number);
bool is_intact(const Message& message);

/// Private data of the connection request: which client this is, over all its connections.
struct Hello {
  std::uint32_t magic = Message::kMagic;
  std::uint32_t version = 1;
  std::uint64_t run = 0;
  std::array<char, 32> name{};  ///< host name, ends with a zero
};
static_assert(sizeof(Hello) <= 56, "all that RDMA CM has room for in a request over IP");

}  // namespace beat
