#include "coordinator/cli/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "coordinator/cli/format/json_formatter.hpp"
#include "coordinator/cli/format/printable.hpp"
#include "coordinator/cli/format/text_formatter.hpp"

namespace rdmove::cli {
namespace {

class QuietView : public UpdateView {
 public:
  void show(const v1::MigrationUpdate&) override {}
  void settle() override {}
};

class JsonView : public UpdateView {
 public:
  explicit JsonView(const Terminal& terminal) : terminal_(terminal) {}
  void show(const v1::MigrationUpdate& update) override {
    terminal_.out << JsonFormatter().format(update) << std::flush;
  }
  void settle() override {}

 private:
  const Terminal& terminal_;
};

/// What was last said of one migration, so that nothing is said twice.
struct Said {
  std::string phase;
  std::string message;
  int tenth = 0;
};

bool inTransfer(const v1::MigrationUpdate& update) {
  return update.has_progress() && update.progress().total_bytes() != 0;
}

/// Whether the view says how a migration ended, or whoever follows it does.
enum class Ends { kLeftToCaller, kShown };

class LineView : public UpdateView {
 public:
  LineView(const Terminal& terminal, Redraw redraw, Ends ends)
      : terminal_(terminal), redraw_(redraw), ends_(ends) {}

  void show(const v1::MigrationUpdate& update) override {
    if (update.final()) {
      if (ends_ == Ends::kShown) terminal_.out << closingSentence(update) << std::endl;
      said_.erase(update.migration().id());
      return;
    }
    Said& said = said_[update.migration().id()];
    const bool news = said.phase != update.migration().phase() ||
                      (!update.message().empty() && said.message != update.message());
    if (news) {
      settle();
      // The message of a phase may be empty: then the phase alone is the news.
      const std::string message = update.message() == said.message ? "" : update.message();
      terminal_.out << printable(update.migration().id()) << "  " << printable(update.migration().phase())
                    << (message.empty() ? "" : "  ") << printable(message) << std::endl;
      if (said.phase != update.migration().phase()) said.tenth = 0;
      said.phase = update.migration().phase();
      if (!update.message().empty()) said.message = update.message();
    }
    if (inTransfer(update)) transfer(update, said);
  }

  void settle() override {
    if (drawn_) terminal_.out << std::endl;
    drawn_ = false;
  }

 private:
  void transfer(const v1::MigrationUpdate& update, Said& said) {
    if (redraw_ == Redraw::kYes) {
      const std::string phase = printable(update.migration().phase());
      const int left = terminal_.width - 1 - static_cast<int>(phase.size()) - 2;
      if (left < 20) return;
      // \033[K: a shorter line must not leave the end of the longer one before it.
      terminal_.out << '\r' << phase << "  " << transferLine(update.progress(), left) << "\033[K"
                    << std::flush;
      drawn_ = true;
      return;
    }
    const int tenth = percentDone(update.progress()) / 10;
    if (tenth <= said.tenth) return;
    said.tenth = tenth;
    terminal_.out << printable(update.migration().id()) << "  "
                  << transferLine(update.progress(), terminal_.width) << std::endl;
  }

  const Terminal& terminal_;
  Redraw redraw_;
  Ends ends_;
  bool drawn_ = false;
  std::map<std::string, Said> said_;
};

}  // namespace

int percentDone(const v1::TransferProgress& progress) {
  if (progress.total_bytes() == 0) return 0;
  const auto left = static_cast<double>(std::min(progress.remaining_bytes(), progress.total_bytes()));
  return static_cast<int>(100.0 * (1.0 - left / static_cast<double>(progress.total_bytes())));
}

std::string transferLine(const v1::TransferProgress& progress, int width) {
  const int percent = percentDone(progress);
  const std::string numbers = fmt::format(
      "{:3} %  {} left  dirty {}/s  pass {}  {:.1f} s", percent, byteCount(progress.remaining_bytes()),
      byteCount(progress.dirty_bytes_per_second()), progress.iteration(), progress.elapsed_ms() / 1000.0);
  const int bar = std::min(40, width - static_cast<int>(numbers.size()) - 3);
  if (bar < 8) return numbers.substr(0, static_cast<std::size_t>(std::max(width, 0)));
  const auto full = static_cast<std::size_t>(bar * percent / 100);
  return '[' + std::string(full, '#') + std::string(static_cast<std::size_t>(bar) - full, '.') + "] " +
         numbers;
}

std::unique_ptr<UpdateView> quietView() {
  return std::make_unique<QuietView>();
}
std::unique_ptr<UpdateView> jsonView(const Terminal& terminal) {
  return std::make_unique<JsonView>(terminal);
}
std::unique_ptr<UpdateView> lineView(const Terminal& terminal) {
  return std::make_unique<LineView>(terminal, Redraw::kNo, Ends::kLeftToCaller);
}
std::unique_ptr<UpdateView> allView(const Terminal& terminal) {
  return std::make_unique<LineView>(terminal, Redraw::kNo, Ends::kShown);
}
std::unique_ptr<UpdateView> barView(const Terminal& terminal) {
  return std::make_unique<LineView>(terminal, terminal.redraw, Ends::kLeftToCaller);
}

}  // namespace rdmove::cli
