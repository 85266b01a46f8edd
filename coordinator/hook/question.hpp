// The one question that the hook asks the daemon, over a unix socket of its own: a line there, a line back
// (docs/hook.md). Blocks, at most the given times.
#pragma once

#include <chrono>
#include <string>

#include "coordinator/base/result.hpp"
#include "coordinator/base/types.hpp"

namespace rdmove {

struct IncomingQuestion {
  DomainUuid uuid;
  std::string name;
};

/// Both ends' words. A name has no line break: libvirt takes none.
std::string questionLine(const IncomingQuestion& question);
/// kBadInput when it is no question.
Result<IncomingQuestion> readQuestion(const std::string& line);
std::string answerLine(const Result<void>& may);

/// Does the daemon expect this domain? kRefused with its reason when it does not, kUnavailable when it says
/// nothing. A daemon that is not there is waited for, `restart` long; it then has `answer` to say it.
Result<void> askWhetherExpected(const std::string& socket, const IncomingQuestion& question,
                                std::chrono::milliseconds restart, std::chrono::milliseconds answer);

}  // namespace rdmove
