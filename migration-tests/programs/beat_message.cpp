#include "beat_message.hpp"

namespace beat {

Message make_message(std::uint64_t run, std::uint64_t number) {
  Message message;
  message.run = run;
  message.number = number;
  std::uint64_t state = run ^ (number * 0x9e3779b97f4a7c15U);
  for (auto& byte : message.contents) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    byte = static_cast<std::uint8_t>(state);
  }
  return message;
}

bool is_intact(const Message& message) {
  return message.magic == Message::kMagic &&
         message.contents == make_message(message.run, message.number).contents;
}

}  // namespace beat
