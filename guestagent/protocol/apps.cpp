// The answer to `apps`, with its bound: 256 applications with long names do not fit a line.
#include <array>

#include "guestagent/protocol/inventory.hpp"
#include "guestagent/protocol/json_text.hpp"
#include "guestagent/protocol/report_parts.hpp"

namespace rdmove::protocol {
namespace {

// In the order of the enum.
constexpr std::array<std::string_view, 4> hold_names{"none", "asked", "released", "holding"};

// What the envelope around it and the last key take of a line.
constexpr std::size_t room = limits::line_bytes - 1024;

nlohmann::json to_json(const ApplicationInfo& application) {
  nlohmann::json out{{"pid", application.pid},
                     {"name", application.name},
                     {"uid", application.uid},
                     {"registered_s", application.registered_s},
                     {"hold", to_text(application.hold)}};
  if (application.report) out["report"] = parts::report_json(*application.report);
  return out;
}

void read_application(FieldReader& in, ApplicationInfo& out) {
  in.integer<std::int32_t>("pid", out.pid, 0);
  in.text("name", out.name, limits::name_bytes);
  in.integer("uid", out.uid);
  in.integer("registered_s", out.registered_s);
  std::string hold;
  in.text("hold", hold, limits::name_bytes);
  const auto* known = std::find(hold_names.begin(), hold_names.end(), hold);
  if (known == hold_names.end()) {
    in.refuse("hold", "must be none, asked, released or holding");
  } else {
    out.hold = static_cast<Hold>(known - hold_names.begin());
  }
  in.optional_object("report", out.report, parts::read_report);
}

}  // namespace

std::string_view to_text(Hold hold) {
  return hold_names[static_cast<std::size_t>(hold)];
}

Payload AppsResult::to_payload() const {
  auto list = nlohmann::json::array();
  std::size_t bytes = 0;
  for (const auto& application : applications) {
    auto item = to_json(application);
    bytes += dump(item).size() + 1;
    if (bytes > room || list.size() == limits::applications) break;
    list.push_back(std::move(item));
  }
  const auto more = left_out + (applications.size() - list.size());
  return Payload({{"applications", std::move(list)}, {"left_out", more}});
}

Result<AppsResult> AppsResult::from_payload(const Payload& payload) {
  AppsResult out;
  FieldReader in(payload.json());
  in.list("applications", out.applications, limits::applications, read_application);
  in.integer("left_out", out.left_out);
  return in.finish(std::move(out));
}

}  // namespace rdmove::protocol
