#include <fmt/format.h>

#include <algorithm>

#include "migration-tests/harness/report.hpp"
#include "coordinator/migration/markup.hpp"

namespace rdmove::harness {
namespace {

constexpr std::string_view kStyle = R"(<style>
:root{color-scheme:light dark}
body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:76rem;padding:0 1rem}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:.3rem .7rem;border-bottom:1px solid #8884;vertical-align:top}
td.n{text-align:right;font-variant-numeric:tabular-nums}
.passed{color:#12936f}.failed{color:#d23b3b}.skipped{color:#8a8f98}
summary{cursor:pointer;padding:.4rem 0}
pre{overflow-x:auto;font-size:13px}
img{max-width:100%}
</style>
)";

/// A picture of its own, so that its rules of style are not the page's.
std::string picture(const std::string& svg) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string url;
  for (const char c : svg) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain =
        std::isalnum(byte) != 0 || std::string_view("-_.~ =:/;,").find(c) != std::string_view::npos;
    if (plain) {
      url += c;
    } else {
      url += '%';
      url += kHex[byte >> 4U];
      url += kHex[byte & 15U];
    }
  }
  return "<img alt=\"timeline\" src=\"data:image/svg+xml," + url + "\">\n";
}

std::string row(std::size_t number, const ScenarioResult& result) {
  const std::string_view verdict = toString(result.verdict);
  return fmt::format(
      "<tr><td class=n>{0}</td><td><a href=\"#s{0}\">{1}</a></td><td class={2}>{2}</td><td>{3}</td>"
      "<td class=n>{4:.1f}</td></tr>\n",
      number, escapedMarkup(result.scenario.name), verdict, escapedMarkup(result.outcome),
      std::chrono::duration<double>(result.took).count());
}

std::string section(std::size_t number, const ScenarioResult& result) {
  const std::string_view verdict = toString(result.verdict);
  std::string out =
      fmt::format("<details id=\"s{}\"{}><summary><b>{}</b> <span class={}>{}</span> {}</summary>\n", number,
                  result.verdict == Verdict::kFailed ? " open" : "", escapedMarkup(result.scenario.name), verdict,
                  verdict, escapedMarkup(result.scenario.about));
  if (!result.why_skipped.empty()) out += "<p>Not run: " + escapedMarkup(result.why_skipped) + "</p>\n";
  for (const std::string& broken : result.broken) out += "<p class=failed>" + escapedMarkup(broken) + "</p>\n";
  if (!result.migration.empty())
    out += fmt::format(
        "<p>{}: {} to {}, {}. Longest blackout that the VM has counted since its load began: {:.0f} ms. "
        "Ticks on both hosts: {}.</p>\n",
        escapedMarkup(result.migration), escapedMarkup(result.from), escapedMarkup(result.to), escapedMarkup(result.outcome),
        static_cast<double>(result.longest_blackout.count()) / 1000, result.doubled_ticks);
  if (!result.timeline.spans.empty()) out += picture(renderSvg(result.timeline));
  out += "<pre>";
  for (const Event& event : result.events)
    out += fmt::format("{:9.3f}  {}\n", std::chrono::duration<double>(event.at).count(), escapedMarkup(event.text));
  for (const std::string& note : result.notes) out += "           " + escapedMarkup(note) + "\n";
  return out + "</pre></details>\n";
}

}  // namespace

std::string htmlOf(const std::vector<ScenarioResult>& results, const std::string& title) {
  const auto count = [&](Verdict verdict) {
    return std::count_if(results.begin(), results.end(),
                         [&](const auto& each) { return each.verdict == verdict; });
  };
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport "
      "content=\"width=device-width\">"
      "<title>{0}</title>\n{1}</head><body>\n<h1>{0}</h1>\n<p>{2} scenarios: <span class=passed>{3} "
      "passed</span>, "
      "<span class=failed>{4} failed</span>, <span class=skipped>{5} skipped</span></p>\n"
      "<table><tr><th>#<th>scenario<th>verdict<th>outcome<th>seconds</tr>\n",
      escapedMarkup(title), kStyle, results.size(), count(Verdict::kPassed), count(Verdict::kFailed),
      count(Verdict::kSkipped));
  for (std::size_t i = 0; i < results.size(); ++i) out += row(i + 1, results[i]);
  out += "</table>\n";
  for (std::size_t i = 0; i < results.size(); ++i) out += section(i + 1, results[i]);
  return out + "</body></html>\n";
}

}  // namespace rdmove::harness
