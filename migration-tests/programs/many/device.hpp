// What all connections on one RDMA device share: PD, completion channel, CQ, and one registered buffer with a
// message for each direction of each connection. Plain verbs. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "../cm_events.hpp"

namespace many {

/// On the wire as it lies in memory: both ends are this program on the same kind of machine.
struct Message {
  static constexpr std::uint64_t kMagic = 0x7264'6d61'6e79'0001;
  std::uint64_t magic = kMagic;
  std::uint64_t run = 0;  ///< random per client process
  std::uint32_t index = 0;
  std::uint32_t reserved = 0;
  std::uint64_t number = 0;
  std::array<std::uint64_t, 4> contents{};
};
static_assert(sizeof(Message) == 64);

Message make_message(std::uint64_t run, std::uint32_t index, std::uint64_t number);
bool is_intact(const Message& message);

/// Private data of a connect request: which connection of which client.
struct Hello {
  std::uint64_t magic = Message::kMagic;
  std::uint64_t run = 0;
  std::uint32_t index = 0;
  std::uint32_t connections = 0;
};

class Device {
 public:
  /// `slots`: connections at most.
  static beat::Result<std::unique_ptr<Device>> open(ibv_context* context, std::uint32_t slots);
  ~Device();  ///< after its queue pairs
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] int completion_fd() const { return completions_->fd; }
  [[nodiscard]] ibv_context* context() const { return context_; }

  /// Makes the id's queue pair and posts its receive.
  beat::Result<void> equip(rdma_cm_id* id, std::uint32_t slot);
  beat::Result<void> send(rdma_cm_id* id, std::uint32_t slot, const Message& message);
  beat::Result<void> receive(rdma_cm_id* id, std::uint32_t slot);

  struct Completion {
    std::uint32_t slot;
    bool received;
    bool succeeded;
    std::uint32_t queue_pair;
    Message message;  ///< of a receive that succeeded
  };
  /// All that is there now.
  void poll(const std::function<void(const Completion&)>& completed);

 private:
  Device(ibv_context* context, std::uint32_t slots) : context_(context), buffers_(2 * std::size_t{slots}) {}
  beat::Result<void> allocate();

  ibv_context* context_;
  ibv_pd* domain_ = nullptr;
  ibv_comp_channel* completions_ = nullptr;
  ibv_cq* queue_ = nullptr;
  ibv_mr* region_ = nullptr;
  std::vector<Message> buffers_;  ///< 2 * slot: sent, 2 * slot + 1: received
};

}  // namespace many
