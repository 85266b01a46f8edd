// Fakes of who and what has to do with a device's addresses besides the kernel.
#pragma once

#include <map>
#include <utility>

#include "guestagent/agent/services.hpp"

namespace rdmove::agent::test {

class FakeManagers final : public Managers {
 public:
  std::string name;
  std::string manager_of(const LinkInfo&) override { return name; }
};

class FakeAddressEvents final : public AddressEvents {
 public:
  std::unique_ptr<Watch> watch(std::function<void()> changed) override {
    struct Registered final : Watch {
      explicit Registered(FakeAddressEvents& events) : owner(events) {}
      ~Registered() override { owner.changed_ = nullptr; }
      Registered(const Registered&) = delete;
      Registered& operator=(const Registered&) = delete;
      FakeAddressEvents& owner;
    };
    changed_ = std::move(changed);
    return std::make_unique<Registered>(*this);
  }
  [[nodiscard]] bool watched() const { return changed_ != nullptr; }
  void change() {
    const auto changed = changed_;
    if (changed) changed();
  }

 private:
  std::function<void()> changed_;
};

class FakeLeases final : public Leases {
 public:
  std::vector<dhcp::Lease> on_device;
  std::vector<std::string> confirmed;  // "eth0 10.0.0.5/24"
  std::function<void(const std::string&)> warn;

  std::vector<dhcp::Lease> find(const CapturedLink&) override { return on_device; }
  void confirm(const RestoredLink& link, const dhcp::Lease& lease,
               std::function<void(const std::string&)> to) override {
    confirmed.push_back(link.netdev + " " + lease.address);
    warn = std::move(to);
  }
};

class FakeGidEvents final : public GidEvents {
 public:
  bool can_open = false;
  std::string open;  // the device that is held open now

  std::unique_ptr<Watch> watch(const std::string& rdma, std::function<void()> changed) override {
    struct Opened final : Watch {
      explicit Opened(FakeGidEvents& events) : owner(events) {}
      ~Opened() override { owner.open.clear(); }
      Opened(const Opened&) = delete;
      Opened& operator=(const Opened&) = delete;
      FakeGidEvents& owner;
    };
    if (!can_open) return nullptr;
    open = rdma;
    changed_ = std::move(changed);
    return std::make_unique<Opened>(*this);
  }
  void change() {
    const auto changed = changed_;
    changed();
  }

 private:
  std::function<void()> changed_;
};

class FakeRdmaSettings final : public RdmaSettings {
 public:
  std::map<std::string, std::vector<RdmaSetting>> of_device;
  std::vector<std::string> refused;

  std::vector<RdmaSetting> capture(const std::string& rdma) override { return of_device[rdma]; }
  std::vector<std::string> put_back(const std::string& rdma,
                                    const std::vector<RdmaSetting>& settings) override {
    of_device[rdma] = settings;
    return refused;
  }
};

}  // namespace rdmove::agent::test
