// A program of this machine's distribution under rdmove-shadow in a guest, by the name of its files in /run.
// Killed when it goes out of sight.
#pragma once

#include <string>
#include <vector>

#include "lab.hpp"

namespace rdmove::lab {

class Shadowed {
 public:
  Shadowed(std::string vm, std::string name, const std::string& words);
  ~Shadowed();
  Shadowed(const Shadowed&) = delete;
  Shadowed& operator=(const Shadowed&) = delete;

  [[nodiscard]] bool runs() const;
  [[nodiscard]] bool ends(seconds limit) const;
  [[nodiscard]] std::string status() const;
  [[nodiscard]] std::string log() const;  ///< its last lines
  /// Lines of its output in which this stands.
  [[nodiscard]] int lines_with(const std::string& words) const;

 private:
  [[nodiscard]] std::string file(const char* kind) const { return "/run/" + name_ + "." + kind; }
  std::string vm_;
  std::string name_;
};

struct Step {
  const char *vm, *from, *to;
};

inline const std::vector<Step> kThereAndBack = {{"vm1", "hosta", "hostb"}, {"vm1", "hostb", "hosta"}};
inline const std::vector<Step> kBothThereAndBack = {{"vm1", "hosta", "hostb"},
                                                    {"vm1", "hostb", "hosta"},
                                                    {"peer", "hostb", "hosta"},
                                                    {"peer", "hosta", "hostb"}};

class Shadow : public Lab {
 protected:
  static constexpr const char* kPeer = "10.77.0.100";

  static void move(const Step& step);
};

}  // namespace rdmove::lab
