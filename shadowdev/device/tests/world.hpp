// Processes with a shadow each on one fabric in memory, who ask each other directly; questions and answers
// can be lost. A process' device is taken away and given back under another name with numbers that begin
// again.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <string>

#include "shadowdev/device/mover.hpp"
#include "shadowdev/device/peer_desk.hpp"
#include "shadowdev/device/shadow_verbs.hpp"
#include "shadowdev/fakeverbs/fabric.hpp"

namespace rdmove::shadow::test {

class Exchange final : public PeerLink {
 public:
  void join(const ibv_gid& gid, PeerDesk& desk) { desks_[key(gid)] = {gid, &desk}; }
  std::optional<std::vector<std::byte>> ask(const ibv_gid& from, const ibv_gid& to,
                                            std::span<const std::byte> question) override {
    ++asked;
    const auto found = desks_.find(key(to));
    if (found == desks_.end() || lost()) return std::nullopt;
    auto answer = found->second.second->answer(from, to, question);
    if (lost()) return std::nullopt;
    return answer;
  }
  std::vector<std::pair<ibv_gid, ibv_gid>> known() override {
    std::vector<std::pair<ibv_gid, ibv_gid>> all;
    for (const auto& [mine, own] : desks_)
      for (const auto& [other, one] : desks_)
        if (mine != other) all.emplace_back(own.first, one.first);
    return all;
  }
  void lose_one_in(unsigned rate, std::uint32_t seed) {
    rate_ = rate;
    random_.seed(seed);
  }
  std::uint64_t asked = 0;

 private:
  using Key = std::array<std::uint8_t, 16>;
  static Key key(const ibv_gid& gid) {
    Key bytes;
    std::copy_n(gid.raw, 16, bytes.begin());
    return bytes;
  }
  bool lost() { return rate_ != 0 && random_() % rate_ == 0; }
  std::map<Key, std::pair<ibv_gid, PeerDesk*>> desks_;
  unsigned rate_ = 0;
  std::mt19937 random_;
};

/// A process with one device.
struct Process {
  Process(fake::Fabric& on, Exchange& exchange, std::string called, std::uint64_t has_guid,
          const ShadowOptions& options = {})
      : fabric(on),
        name(std::move(called)),
        guid(has_guid),
        device(name + "0"),
        below(fabric),
        verbs(below, &exchange, options),
        desk(verbs.engine()) {
    fabric.add_device(device, guid);
    exchange.join(fake::Fabric::gid_of(guid), desk);
  }
  [[nodiscard]] std::string next_device() const { return name + std::to_string(generation + 1); }

  fake::Fabric& fabric;
  std::string name;
  std::uint64_t guid;
  unsigned generation = 0;
  std::uint32_t gid_index = 0;  ///< that the next device has its GID at
  std::string device;
  fake::FakeVerbs below;
  ShadowVerbs verbs;
  PeerDesk desk;
};

/// One move of one process, step by step: the device is removed and comes back in between.
class Move {
 public:
  Move(Process& process, ibv_context* context) : process_(process), mover_(process.verbs.engine(), context) {}

  enum class At : std::uint8_t { Begin, Parking, Away, Restoring, Done, RolledBack };
  [[nodiscard]] At at() const { return at_; }
  [[nodiscard]] bool over() const { return at_ == At::Done || at_ == At::RolledBack; }
  Mover& mover() { return mover_; }

  /// Does one thing; failures of calls are tried again with the next.
  void step() {
    switch (at_) {
      case At::Begin: {
        const auto begun = mover_.begin_park();
        if (begun) at_ = At::Parking;
        if (!begun) word = begun.error().message;
        return;
      }
      case At::Parking:
        if (done(mover_.park())) {
          EXPECT_TRUE(process_.fabric.remove_device(process_.device)) << "something holds the device";
          at_ = At::Away;
        }
        return;
      case At::Away:
        if (process_.device != process_.next_device()) {
          process_.device = process_.next_device();
          process_.fabric.add_device(process_.device, process_.guid).gid_index = process_.gid_index;
        }
        if (const auto begun = mover_.begin_restore(process_.device)) {
          ++process_.generation;
          at_ = At::Restoring;
        } else {
          word = begun.error().message;
        }
        return;
      case At::Restoring:
        if (done(mover_.restore())) at_ = At::Done;
        return;
      default:
        return;
    }
  }
  void roll_back() {
    if (at_ != At::Parking || !mover_.can_roll_back()) return;
    mover_.roll_back();
    at_ = At::RolledBack;
  }
  std::string word;  ///< of the last failure

 private:
  bool done(const Result<Mover::Step>& result) {
    if (!result) word = result.error().message;
    return result && *result == Mover::Step::Done;
  }
  Process& process_;
  Mover mover_;
  At at_ = At::Begin;
};

}  // namespace rdmove::shadow::test
