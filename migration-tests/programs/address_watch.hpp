// Tells when an IP address appears on this machine (netlink, RTM_NEWADDR): with no agent to say "ready", that
// is the moment at which connecting again can work.
#pragma once

namespace beat {

class AddressWatch {
 public:
  AddressWatch();
  ~AddressWatch();
  AddressWatch(const AddressWatch&) = delete;
  AddressWatch& operator=(const AddressWatch&) = delete;

  int fd() const { return fd_; }  ///< -1 where the kernel refuses it: then only time drives the retries
  bool address_appeared();        ///< reads all that is there

 private:
  int fd_;
};

}  // namespace beat
