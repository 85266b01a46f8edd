// What a move asks of whoever makes a process' connections (cm/shadow_cm.hpp), so that the kernel's idea of
// them goes before the device does and no program hears of it. All but the last part is called with the
// engine's control lock, and takes none that is held while verbs are called: what cannot be done now says
// EAGAIN, and is asked again with the next round.
#pragma once

#include "shadowdev/device/objects.hpp"

namespace rdmove::shadow {

class Connections {
 public:
  virtual ~Connections() = default;

  /// The QP is held: nothing that the kernel says of its connection is shown from here on.
  virtual int bury(const VirtualQp& qp) = 0;
  /// The move is off.
  virtual void exhume(const VirtualQp& qp) = 0;
  /// The QP goes: the kernel is to forget the connection.
  virtual int retire(const VirtualQp& qp) = 0;
  /// Nobody is at the other end any more: its program hears DISCONNECTED.
  virtual void ended(const VirtualQp& qp) = 0;
  /// The program destroys it: what its peer has to be told later is in it.
  virtual void destroyed(const VirtualQp& qp) = 0;
  /// All else that is bound to this device goes.
  virtual int leave(const VirtualContext& context) = 0;

  // The control thread's, without any lock.
  virtual void close_gate() = 0;  ///< no new connections while a move is under way
  virtual void open_gate() = 0;
  [[nodiscard]] virtual bool is_settled() = 0;  ///< no connection is just being made
  virtual void tend() = 0;                      ///< what could not be done at once
  [[nodiscard]] virtual bool come_back() = 0;   ///< listeners listen again; false: not all of them yet
};

}  // namespace rdmove::shadow
