#include "shadowed.hpp"

#include <cstdlib>

namespace rdmove::lab {
namespace {

struct Shell : Lab {
  void TestBody() override {}
  using Lab::guest;
  using Lab::within;
};

}  // namespace

Shadowed::Shadowed(std::string vm, std::string name, const std::string& words)
    : vm_(std::move(vm)), name_(std::move(name)) {
  Shell::guest(vm_, "rm -f /run/" + name_ +
                        ".*; (rdmove-shadow run --require --libraries /usr/lib/rdmove/shadow -- " + words +
                        " >" + file("log") + " 2>" + file("err") + " </dev/null & echo $! >" + file("pid") +
                        "; wait $!; echo $? >" + file("status") + ") >/dev/null 2>&1 &");
}

Shadowed::~Shadowed() {
  if (runs()) Shell::guest(vm_, "kill -KILL $(cat " + file("pid") + ")");
}

bool Shadowed::runs() const {
  return Shell::guest(vm_, "! [ -s " + file("status") + " ] && kill -0 $(cat " + file("pid") + ")").status ==
         0;
}

bool Shadowed::ends(seconds limit) const {
  return Shell::within(limit, [this] { return !runs(); });
}

std::string Shadowed::status() const {
  return Shell::guest(vm_, "cat " + file("status")).output;
}

std::string Shadowed::log() const {
  return Shell::guest(vm_, "tail -n 40 " + file("log") + " " + file("err")).output;
}

int Shadowed::lines_with(const std::string& words) const {
  return std::atoi(Shell::guest(vm_, "cat " + file("log") + " " + file("err") + " | grep -c '" + words + "'")
                       .output.c_str());
}

void Shadow::move(const Step& step) {
  // An emulated guest needs more than the 2 s that are the default.
  const Outcome moved = rdmove(step.from, {"migrate", step.vm, step.to, "--prepare-deadline", "20000"});
  EXPECT_EQ(moved.status, 0) << moved.output;
}

}  // namespace rdmove::lab
