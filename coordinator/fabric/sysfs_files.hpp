// The files of sysfs, behind an interface: a driver decides what a write does, so tests put one of their own
// here (tests/fixture/). Paths are below the root: "class/net/ens1/mtu". Any thread; calls block shortly.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/base/result.hpp"

namespace rdmove::fabric {

class SysfsFiles {
 public:
  virtual ~SysfsFiles() = default;
  /// Without the newline at its end; of more than 64 KiB the beginning. kNotFound when there is no such file,
  /// kUnavailable when the driver cannot tell.
  virtual Result<std::string> read(const std::string& path) const = 0;
  /// In one write call, as drivers want it. The cause is the driver's word. kNotFound: no such file;
  /// kRefused: EINVAL, EPERM, EACCES; kIncompatible: EOPNOTSUPP; kConflict: EBUSY; else kUnavailable. Success
  /// does not mean that the value is there: read it back.
  virtual Result<void> write(const std::string& path, const std::string& text) = 0;
  virtual bool exists(const std::string& path) const = 0;
  /// Names in a directory, sorted; empty when there is none.
  virtual std::vector<std::string> list(const std::string& directory) const = 0;
  /// Last component of what a link points to; empty when there is no link.
  virtual std::string linkName(const std::string& link) const = 0;
};

std::unique_ptr<SysfsFiles> makeSysfsFiles(std::filesystem::path root = "/sys");

/// The code that an errno of a driver gets, here and over netlink.
ErrorCode codeOfErrno(int error);

}  // namespace rdmove::fabric
