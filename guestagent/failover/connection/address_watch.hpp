// Tells when an IP address appears on this machine (netlink, RTM_NEWADDR): with no agent to say "ready", that
// is when connecting again can work. Owned by the loop; its thread.
#pragma once

namespace rdmove::failover::conn {

class AddressWatch {
 public:
  AddressWatch();
  ~AddressWatch();
  AddressWatch(const AddressWatch&) = delete;
  AddressWatch& operator=(const AddressWatch&) = delete;

  [[nodiscard]] int fd() const {
    return fd_;
  }                               ///< -1 where the kernel refuses it: then only time drives the retries
  bool address_appeared() const;  ///< reads all that is there

 private:
  int fd_;
};

}  // namespace rdmove::failover::conn
