// Bytes as a process or another guest may send them to the agent, and the agent to a process: frames are the
// same however the stream is cut, what is read is written the same, and so are the messages in them.
#include <algorithm>

#include "guestagent/fuzz/target.hpp"
#include "shadowdev/device/peer_message.hpp"
#include "shadowdev/link/frame.hpp"

namespace rdmove::fuzz {
namespace {

using namespace rdmove::shadow;

std::vector<std::vector<std::byte>> frames_of(std::span<const std::byte> bytes, std::size_t step) {
  FrameSplitter splitter;
  std::vector<std::vector<std::byte>> all;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    const bool good = splitter.push(bytes.subspan(at, std::min(step, bytes.size() - at)));
    while (const auto frame = splitter.next()) all.push_back(encode(*frame));
    if (!good) break;
  }
  return all;
}

}  // namespace

void run(std::span<const std::uint8_t> input) {
  const auto bytes = std::as_bytes(input);
  const auto whole = frames_of(bytes, std::max<std::size_t>(bytes.size(), 1));
  require(whole == frames_of(bytes, 1), "frames depend on how the stream is cut");
  std::size_t read = 0;
  for (const auto& frame : whole) {
    require(read + frame.size() <= bytes.size(), "more was read than was there");
    require(std::equal(frame.begin(), frame.end(), bytes.begin() + static_cast<std::ptrdiff_t>(read)),
            "a frame is written otherwise than it was read");
    read += frame.size();
  }
  if (const auto question = decode_question(bytes)) {
    const auto again = encode(*question);
    require(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()),
            "a question is written otherwise");
    require(question->pairs.size() <= kMostPairs, "more pairs than a message may have");
  }
  if (const auto answer = decode_answer(bytes)) {
    const auto again = encode(*answer);
    require(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()),
            "an answer is written otherwise");
  }
}

}  // namespace rdmove::fuzz
