// Datagrams of a SharedPort over libibumad: the subnet administrator of a real (or simulated) subnet answers
// what functions ask. For tests and tools: it speaks for the management class SA only, as one more client of
// the host's own QP1, and takes QP1 from nobody. No umad type leaves this file. One thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "shadowdev/gsi/mad.hpp"
#include "shadowdev/gsi/problem.hpp"

namespace rdmove::gsi {

class UmadPort {
 public:
  /// The first active InfiniBand port, or that of the named adapter. NotFound: there is none, or this user
  /// may not open it.
  static Result<std::unique_ptr<UmadPort>> open(const std::string& adapter = {});
  ~UmadPort();
  UmadPort(const UmadPort&) = delete;
  UmadPort& operator=(const UmadPort&) = delete;

  [[nodiscard]] Gid gid() const { return gid_; }
  [[nodiscard]] Lid lid() const { return lid_; }
  [[nodiscard]] Lid subnet_manager() const { return subnet_manager_; }
  [[nodiscard]] std::uint8_t subnet_manager_service_level() const { return service_level_; }

  /// False: the kernel did not take it. It does not take a second request with a TransactionID that still
  /// waits for its answer, so a retry within `timeout` is refused, and needless. timeout: until the kernel
  /// forgets the request.
  bool send(const Datagram& datagram, milliseconds timeout = milliseconds{20'000});
  /// What came, or nothing within `timeout`. Requests that the kernel gave up are left out: SharedPort has
  /// its own clock.
  std::optional<Datagram> receive(milliseconds timeout);

 private:
  struct Buffer;
  UmadPort(int port, int agent);

  int port_;
  int agent_;
  Gid gid_;
  Lid lid_{};
  Lid subnet_manager_{};
  std::uint8_t service_level_ = 0;
  std::unique_ptr<Buffer> buffer_;
};

}  // namespace rdmove::gsi
