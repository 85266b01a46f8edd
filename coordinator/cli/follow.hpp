// Follows a stream of updates to its end and says how it ended: what `migrate` and `watch` share.
// Main thread; the stream is cancelled from the interrupt's thread.
#pragma once

#include <functional>
#include <memory>

#include "coordinator/cli/daemon.hpp"
#include "coordinator/cli/progress.hpp"

namespace rdmove::cli {

using UpdateReader = grpc::ClientReaderInterface<v1::MigrationUpdate>;
using OpenStream = std::function<std::unique_ptr<UpdateReader>(grpc::ClientContext&)>;

/// Who prints the last word: JSON says it as an object, everybody else as a sentence.
enum class Closing { kSentence, kInStream };

/// `started`: what the migration is called before the first update ("the migration of vm1", or its id).
struct FollowOne {
  std::string called;
  Closing closing = Closing::kSentence;
};

/// Until the final update of one migration, or of one evacuation, whose first update is its own. The outcome
/// is the exit code.
ExitCode followOne(Session& session, const FollowOne& what, UpdateView& view, const OpenStream& open);

/// Every migration until Ctrl-C, which is the good end.
ExitCode followAll(Session& session, UpdateView& view, const OpenStream& open);

}  // namespace rdmove::cli
