// One end of a stream of messages over RDMA CM and verbs, by hand: registered slots, posts, completions, and a credit
// for every kBatch messages that were taken. What a program without librdmove has, and as little as it can have. It
// blocks, and knows nothing of a device that leaves. One thread.
#pragma once

#include <rdma/rdma_cma.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace stream {

constexpr std::uint32_t kSlots = 64;
constexpr std::uint32_t kBatch = 32;

class RawEnd {
 public:
  /// Both throw std::runtime_error with what failed.
  static std::unique_ptr<RawEnd> connect(const std::string& address, std::uint16_t port, std::size_t size);
  /// Waits for a caller, at an id that listens.
  static std::unique_ptr<RawEnd> accept(rdma_cm_id* listener, std::size_t size);
  static rdma_cm_id* listen(const std::string& address, std::uint16_t port);
  ~RawEnd();
  RawEnd(const RawEnd&) = delete;
  RawEnd& operator=(const RawEnd&) = delete;

  /// Sends so many (a multiple of kBatch), and returns when the peer has said that it has them.
  void send(std::uint64_t count);
  /// Takes messages and gives credit until the peer leaves.
  void serve();

 private:
  RawEnd(rdma_cm_id* id, std::size_t size);
  void post_receive(std::uint64_t slot);
  void post_send(std::size_t length);
  void wait();
  bool take();  // false: the connection is over

  rdma_cm_id* id_;
  std::size_t size_;
  ibv_pd* domain_ = nullptr;
  ibv_comp_channel* completions_ = nullptr;
  ibv_cq* queue_ = nullptr;
  ibv_mr* region_ = nullptr;
  std::vector<std::byte> slots_;
  std::vector<std::byte> message_;
  std::uint64_t next_ = 0;
  std::uint32_t in_flight_ = 0;
  std::uint64_t received_ = 0;
};

}  // namespace stream
