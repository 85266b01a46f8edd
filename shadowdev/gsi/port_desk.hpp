// What the shared records of a port ask of it. Part of SharedPort.
#pragma once

#include "shadowdev/gsi/shared_port.hpp"

namespace rdmove::gsi {

class SharedPort::Desk final : public RecordDesk {
 public:
  /// Of all functions together; the oldest is dropped, and its function finds out by a MAD that is not
  /// answered.
  static constexpr std::size_t kMostEvents = 1024;

  Desk(SharedPort& port, bool is_membership) : port_(port), is_membership_(is_membership) {}

  bool ask_administrator(const Mad& request) override {
    if (!port_.outgoing_.has_room(kPortItself)) return false;
    Datagram datagram;
    datagram.mad = request;
    datagram.remote = port_.options_.subnet_manager;
    datagram.service_level = port_.options_.subnet_manager_service_level;
    const auto id = port_.transactions(kPortItself).open(datagram, now());
    if (!id) return false;
    datagram.mad.set_transaction(*id);
    return port_.outgoing_.push(kPortItself, std::move(datagram));
  }
  void answer(FunctionId function, const Datagram& request, const Mad& answer) override {
    port_.deliver(function, answer_to(request, answer));
  }
  void changed(FunctionId function, const RecordBytes& record, RecordChange what,
               std::uint16_t status) override {
    if (port_.events_.size() >= kMostEvents) port_.events_.pop_front();
    port_.events_.push_back({function, is_membership_, record, what, status});
  }
  [[nodiscard]] TimePoint now() const override { return port_.timekeeper_.now(); }
  [[nodiscard]] TransactionId fresh_id() override { return TransactionId{port_.next_own_id_++}; }

 private:
  SharedPort& port_;
  bool is_membership_;
};

}  // namespace rdmove::gsi
