#include "coordinator/cli/evacuation_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "coordinator/cli/format/printable.hpp"
#include "coordinator/cli/format/text_formatter.hpp"

namespace rdmove::cli {
namespace {

class EvacuationView : public UpdateView {
 public:
  explicit EvacuationView(const Terminal& terminal) : terminal_(terminal) {}

  void show(const v1::MigrationUpdate& update) override {
    if (update.has_plan())
      terminal_.out << TextFormatter(terminal_.width).format(update.plan()) << std::flush;
    if (update.has_evacuation()) {
      evacuation_ = update.evacuation();
    } else {
      newest_[update.migration().id()] = update;
    }
    if (terminal_.redraw == Redraw::kYes) {
      draw();
    } else if (update.has_evacuation() && !update.message().empty() && !update.final()) {
      terminal_.out << printable(evacuation_.id()) << "  " << printable(update.message()) << std::endl;
    }
    if (update.final()) sayWhatStayed();
  }

  /// The last line drawn ended with its line break already.
  void settle() override { drawn_ = 0; }

 private:
  void draw() {
    if (evacuation_.vms().empty()) return;
    std::size_t widest = 0;
    for (const auto& vm : evacuation_.vms()) widest = std::max(widest, vm.domain().size());
    if (drawn_ > 0) terminal_.out << fmt::format("\033[{}A", drawn_);
    for (const auto& vm : evacuation_.vms()) {
      const auto newest = newest_.find(vm.migration());
      // \033[K: a shorter line must not leave the end of the longer one before it.
      terminal_.out << '\r'
                    << vmLine(vm, newest == newest_.end() ? v1::MigrationUpdate() : newest->second,
                              static_cast<int>(std::min<std::size_t>(widest, 24)), terminal_.width - 1)
                    << "\033[K\n";
    }
    terminal_.out << std::flush;
    drawn_ = evacuation_.vms_size();
  }

  void sayWhatStayed() {
    settle();
    for (const auto& vm : evacuation_.vms()) {
      if (vm.state() == "moved") continue;
      terminal_.out << printable(vm.domain()) << ' ' << printable(vm.state()) << ": "
                    << printable(vm.reason()) << '\n';
    }
    terminal_.out << std::flush;
  }

  const Terminal& terminal_;
  v1::EvacuationSummary evacuation_;
  std::map<std::string, v1::MigrationUpdate> newest_;
  int drawn_ = 0;
};

class OneView : public UpdateView {
 public:
  explicit OneView(const Terminal& terminal) : terminal_(terminal) {}
  void show(const v1::MigrationUpdate& update) override {
    if (!view_) view_ = update.has_evacuation() ? evacuationView(terminal_) : barView(terminal_);
    view_->show(update);
  }
  void settle() override {
    if (view_) view_->settle();
  }

 private:
  const Terminal& terminal_;
  std::unique_ptr<UpdateView> view_;
};

}  // namespace

std::string vmLine(const v1::EvacuationVm& vm, const v1::MigrationUpdate& update, int name_width, int width) {
  std::string line = fmt::format("{:<{}}  {:<10}  ", printable(vm.domain()), name_width,
                                 printable(vm.destination().empty() ? "-" : vm.destination()));
  if (vm.state() != "moving") {
    line += printable(vm.state());
    if (vm.state() == "moved" && vm.ended_us() > vm.began_us() && vm.began_us() != 0)
      line += fmt::format(" in {:.1f} s", static_cast<double>(vm.ended_us() - vm.began_us()) / 1e6);
    if (!vm.reason().empty()) line += ": " + printable(vm.reason());
  } else {
    const std::string& phase = update.migration().phase();
    line += printable(phase.empty() ? "begins" : phase);
    const int left = width - static_cast<int>(line.size()) - 2;
    if (phase == "Transferring" && update.progress().total_bytes() != 0 && left >= 20)
      line += "  " + transferLine(update.progress(), left);
  }
  return line.substr(0, static_cast<std::size_t>(std::max(width, 0)));
}

std::unique_ptr<UpdateView> evacuationView(const Terminal& terminal) {
  return std::make_unique<EvacuationView>(terminal);
}
std::unique_ptr<UpdateView> oneView(const Terminal& terminal) {
  return std::make_unique<OneView>(terminal);
}

}  // namespace rdmove::cli
