// One examination in the making: what is known so far, and the findings. Private to the examiner*.cpp.
#pragma once

#include <string>
#include <utility>

#include "coordinator/hypervisor/hypervisor.hpp"
#include "coordinator/preflight/examiner.hpp"
#include "coordinator/service/config.hpp"

namespace rdmove {

struct Examiner::Look {
  const Config& config;
  Examination result;
  Plan plan;
  DomainStatus status;
  std::string live_xml;
  bool domain_fits = false;
  SourceFacts facts{};           ///< examineArrival: what the source told of itself
  std::vector<MovingVf> owed{};  ///< devices that an arrival has not brought back yet; the VM may move on

  void add(Severity severity, std::string code, std::string sentence, std::string remedy = {}) {
    result.findings.push_back(
        {severity, std::move(code), std::move(sentence), std::move(remedy), config.host.str()});
  }
  void error(std::string code, std::string sentence, std::string remedy) {
    add(Severity::kError, std::move(code), std::move(sentence), std::move(remedy));
  }
  void fail(std::string code, const Error& why) {
    add(Severity::kError, std::move(code), Error{why.code, why.attempted, why.cause, ""}.sentence(),
        why.remedy);
  }
};

}  // namespace rdmove
