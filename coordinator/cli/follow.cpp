#include "coordinator/cli/follow.hpp"

#include <fmt/format.h>

#include <optional>

#include "coordinator/cli/format/text_formatter.hpp"
#include "coordinator/cli/interrupt.hpp"

namespace rdmove::cli {
namespace {

std::string howToGoOn(const std::string& id) {
  return fmt::format("See it with 'rdmove watch {0}', end it with 'rdmove cancel {0}'.", id);
}

ExitCode close(Session& session, const v1::MigrationUpdate& last, Closing closing) {
  const bool prepared = last.migration().phase() == "Prepared" && last.migration().outcome() == "Running";
  const ExitCode code = prepared ? ExitCode::kDone : exitCodeForOutcome(last.migration().outcome());
  if (closing == Closing::kInStream) return code;
  const std::string sentence = closingSentence(last);
  if (code != ExitCode::kDone) return session.terminal.fail({code, sentence});
  session.terminal.out << sentence << std::endl;
  return code;
}

/// What is followed, as its first update says.
struct Followed {
  std::string id;
  std::string kind = "migration";
};

Failure interrupted(const FollowOne& what, const Followed& followed) {
  const std::string& id = followed.id;
  if (id.empty()) {
    return {ExitCode::kLostContact,
            fmt::format("interrupted; {} goes on if it had started. 'rdmove list' shows it.", what.called)};
  }
  return {ExitCode::kLostContact,
          fmt::format("interrupted; {} {} goes on. {}", followed.kind, id, howToGoOn(id))};
}

Failure broken(const Daemon& daemon, const FollowOne& what, const Followed& followed,
               const grpc::Status& status) {
  const std::string& id = followed.id;
  const std::string cause = status.ok() ? "it ended the stream" : status.error_message();
  if (!id.empty()) {
    return {ExitCode::kLostContact, fmt::format("lost contact with rdmoved: {}; {} {} goes on. {}", cause,
                                                followed.kind, id, howToGoOn(id))};
  }
  // Its own words: refused before it started.
  if (exitCodeForStatus(status.error_code()) == ExitCode::kRefused) return daemon.failure(status);
  return {
      ExitCode::kLostContact,
      fmt::format("lost contact with rdmoved: {}; {} goes on if it had started. 'rdmove list' shows it once "
                  "rdmoved runs again ('systemctl status rdmoved').",
                  cause, what.called)};
}

}  // namespace

ExitCode followOne(Session& session, const FollowOne& what, UpdateView& view, const OpenStream& open) {
  grpc::ClientContext context;
  const Interrupt interrupt([&context] { context.TryCancel(); });
  const auto reader = open(context);
  Followed followed;
  std::optional<v1::MigrationUpdate> last;
  v1::MigrationUpdate update;
  while (!last && reader->Read(&update)) {
    if (followed.id.empty()) {
      followed.id = update.migration().id();
      if (update.has_evacuation()) followed.kind = "evacuation";
    }
    view.show(update);
    if (update.final()) last = update;
  }
  view.settle();
  if (last) context.TryCancel();  // nothing more is awaited, whatever the daemon does with the stream
  const grpc::Status status = reader->Finish();
  if (last) return close(session, *last, what.closing);
  return session.terminal.fail(interrupt.happened() ? interrupted(what, followed)
                                                    : broken(session.daemon, what, followed, status));
}

ExitCode followAll(Session& session, UpdateView& view, const OpenStream& open) {
  grpc::ClientContext context;
  const Interrupt interrupt([&context] { context.TryCancel(); });
  const auto reader = open(context);
  v1::MigrationUpdate update;
  while (reader->Read(&update)) {
    view.show(update);
  }
  view.settle();
  const grpc::Status status = reader->Finish();
  if (interrupt.happened() || status.ok()) return ExitCode::kDone;
  return session.terminal.fail(session.daemon.failure(status));
}

}  // namespace rdmove::cli
