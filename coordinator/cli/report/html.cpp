#include "coordinator/cli/report/html.hpp"

#include <fmt/format.h>

#include "coordinator/cli/format/printable.hpp"
#include "coordinator/migration/markup.hpp"

namespace rdmove::cli {
namespace {

constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark}
body{margin:0;font:15px/1.5 system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;color:#1c2430;background:#f5f7fa}
main{max-width:1120px;margin:0 auto;padding:24px 16px 48px}
h1{font-size:22px;margin:0 0 4px}h2{font-size:16px;margin:32px 0 8px}p{margin:4px 0}
.r-dim{color:#56616f}.r-error{border-left:4px solid #d23b3b;padding:8px 12px;background:#fff;border-radius:4px}
.r-tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:16px 0}
.r-tile{background:#fff;border-radius:8px;padding:12px 14px}.r-tile b{display:block;font-size:20px;font-variant-numeric:tabular-nums}
.r-box{background:#fff;border-radius:8px;overflow-x:auto;-webkit-overflow-scrolling:touch}
table{border-collapse:collapse;width:100%;font-size:13.5px}
th,td{text-align:left;padding:6px 12px;border-bottom:1px solid #e2e7ee;vertical-align:top}th{color:#56616f;font-weight:600;white-space:nowrap}
td.r-n,th.r-n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}td.r-t{white-space:nowrap;font-variant-numeric:tabular-nums}
tr.r-bad td{color:#b52a2a}svg{display:block}
@media(prefers-color-scheme:dark){
body{color:#e4e9f0;background:#0b0f14}.r-dim,th{color:#93a0b4}.r-tile,.r-box,.r-error{background:#11161d}
th,td{border-color:#2a3340}tr.r-bad td{color:#ff8a8a}}
@media print{body{background:#fff}.r-box{overflow:visible}}
)";

}  // namespace

std::string escaped(std::string_view text) {
  return escapedMarkup(printable(std::string(text)));
}

std::string pageHead(std::string_view title, std::string_view state, std::string_view subtitle) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>{0}: {1}</title>\n<style>{2}</style></head><body><main>\n<h1>{0}: {1}</h1>\n"
      "<p class=\"r-dim\">{3}</p>\n",
      escaped(title), escaped(state), kStyle, escaped(subtitle));
}

std::string pageFoot() {
  return "</main></body></html>\n";
}

std::string inMilliseconds(std::int64_t us) {
  return fmt::format("{:.0f} ms", static_cast<double>(us) / 1000.0);
}

std::string tile(std::string_view value, std::string_view name) {
  return fmt::format("<div class=\"r-tile\"><b>{}</b><span class=\"r-dim\">{}</span></div>\n", escaped(value),
                     name);
}

HtmlTable::HtmlTable(std::vector<std::string> titles) : titles_(std::move(titles)) {
  text_ = "<div class=\"r-box\"><table><tr>";
  for (const std::string& title : titles_) {
    const bool number = title[0] == '#';
    text_ +=
        fmt::format("<th{}>{}</th>", number ? " class=\"r-n\"" : "", escaped(title.substr(number ? 1 : 0)));
  }
  text_ += "</tr>\n";
}

void HtmlTable::add(const std::vector<std::string>& cells, bool bad) {
  text_ += bad ? "<tr class=\"r-bad\">" : "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const char* kind = titles_[i][0] == '#' ? " class=\"r-n\"" : titles_[i] == "Time" ? " class=\"r-t\"" : "";
    text_ += fmt::format("<td{}>{}</td>", kind, escaped(cells[i]));
  }
  text_ += "</tr>\n";
}

std::string HtmlTable::str() const {
  return text_ + "</table></div>\n";
}

}  // namespace rdmove::cli
