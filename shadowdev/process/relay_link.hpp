// This process' link to other shadows: through the guest's agent, which knows who is where
// (docs/shadow-link.md). One per process. ask() may be called by any thread. Frames are read by the control
// thread only; while that asks itself it goes on reading, so two processes that ask each other do not wait
// for each other.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "shadowdev/device/peer_link.hpp"
#include "shadowdev/link/frame.hpp"

namespace rdmove::shadow {

class RelayLink final : public PeerLink {
 public:
  using Answerer = std::function<std::vector<std::byte>(const ibv_gid& from, const ibv_gid& to,
                                                        std::span<const std::byte>)>;

  RelayLink(std::string path, std::chrono::milliseconds patience);
  ~RelayLink() override;
  RelayLink(const RelayLink&) = delete;
  RelayLink& operator=(const RelayLink&) = delete;

  std::optional<std::vector<std::byte>> ask(const ibv_gid& from, const ibv_gid& to,
                                            std::span<const std::byte> question) override;
  std::vector<std::pair<ibv_gid, ibv_gid>> known() override;
  /// The agent is told that questions to these GIDs are for us, now and after every connect().
  void announce(const std::vector<ibv_gid>& gids);

  // The control thread's.
  void serve(Answerer answerer);  ///< once, before anything else: from here on this thread reads
  bool connect();                 ///< true as well if it is connected
  [[nodiscard]] int fd() const { return fd_; }
  /// Reads what is there. False: the agent has gone.
  bool read();

 private:
  using Key = std::pair<std::array<std::uint8_t, 16>, std::array<std::uint8_t, 16>>;
  struct Waiting {
    bool answered = false;
    std::optional<std::vector<std::byte>> answer;
  };

  void take(const Frame& frame);
  bool send(const Frame& frame);
  void announce_one(const ibv_gid& gid);
  void lose();

  const std::string path_;
  const std::chrono::milliseconds patience_;
  Answerer answerer_;
  std::thread::id reader_;
  FrameSplitter splitter_;
  std::mutex write_lock_;

  std::mutex lock_;
  std::condition_variable answered_;
  int fd_ = -1;
  std::uint32_t last_ = 0;
  std::map<std::uint32_t, Waiting> waiting_;
  std::map<Key, std::pair<ibv_gid, ibv_gid>> known_;
  std::vector<ibv_gid> ours_;
};

}  // namespace rdmove::shadow
