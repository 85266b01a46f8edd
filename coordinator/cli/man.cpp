#include "coordinator/cli/man.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace rdmove::cli {
namespace {

/// roff's own characters made plain: '\' and '-', and a '.' or "'" at the start of a line.
std::string roff(const std::string& text) {
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    line_start = c == '\n';
  }
  return out;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string synopsis(const CommandDoc& doc, const std::string& full_name) {
  std::string out = ".B " + roff(full_name) + '\n';
  for (const OptionDoc& option : doc.options) {
    if (!option.positional) continue;
    const std::string name = "\\fI" + roff(option.value.empty() ? option.name : option.value) + "\\fR";
    out += option.required ? name + '\n' : "[" + name + "]\n";
  }
  out += "[\\fIOPTION\\fR]...\n";
  if (!doc.commands.empty()) out += "\\fICOMMAND\\fR ...\n";
  return out;
}

/// Paragraphs as they are, examples and tables (two blanks) unfilled.
std::string details(const std::string& text) {
  std::string out;
  bool unfilled = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool example = line.starts_with("  ");
    if (example != unfilled) out += example ? ".RS 4\n.nf\n" : ".fi\n.RE\n";
    unfilled = example;
    out += line.empty() ? ".PP\n" : roff(example ? line.substr(2) : line) + '\n';
  }
  return unfilled ? out + ".fi\n.RE\n" : out;
}

std::string options(const CommandDoc& doc) {
  std::string out;
  for (const OptionDoc& option : doc.options) {
    if (option.positional) {
      out += ".TP\n.I " + roff(option.name) + '\n' + roff(option.help) + ".\n";
      continue;
    }
    const std::string short_name =
        option.short_name.empty() ? "" : "\\fB" + roff(option.short_name) + "\\fR, ";
    const std::string value = option.value.empty() ? "" : " \\fI" + roff(option.value) + "\\fR";
    out +=
        ".TP\n" + short_name + "\\fB" + roff(option.name) + "\\fR" + value + '\n' + roff(option.help) + ".\n";
  }
  return out;
}

std::string page(const CommandDoc& doc, const std::string& page_name, const std::string& full_name) {
  std::string out =
      fmt::format(".TH {} 1 \"\" \"rdmove {}\" \"User Commands\"\n", upper(roff(page_name)), RDMOVE_VERSION);
  out += ".SH NAME\n" + roff(page_name) + " \\- " + roff(doc.summary) + '\n';
  out += ".SH SYNOPSIS\n" + synopsis(doc, full_name);
  if (!doc.details.empty()) out += ".SH DESCRIPTION\n" + details(doc.details);
  if (!doc.options.empty()) out += ".SH OPTIONS\n" + options(doc);
  return out;
}

std::string commandList(const CommandDoc& doc, const std::string& prefix) {
  std::string out;
  for (const CommandDoc& command : doc.commands) {
    if (command.commands.empty()) {
      out += ".TP\n.BR " + roff(prefix + command.name) + " (1)\n" + roff(command.summary) + ".\n";
    } else {
      out += commandList(command, prefix + command.name + "-");
    }
  }
  return out;
}

std::string find(const CommandDoc& doc, const std::string& prefix, const std::string& wanted) {
  for (const CommandDoc& command : doc.commands) {
    const std::string name = prefix + command.name;
    if (name == wanted && command.commands.empty()) {
      std::string full = "rdmove " + name;
      std::replace(full.begin(), full.end(), '-', ' ');
      return page(command, "rdmove-" + name, full) + ".SH SEE ALSO\n.BR rdmove (1)\n";
    }
    if (std::string found = find(command, name + "-", wanted); !found.empty()) return found;
  }
  return {};
}

}  // namespace

std::string manPage(const CommandDoc& root, const std::string& command) {
  if (!command.empty()) return find(root, "", command);
  return page(root, "rdmove", "rdmove") + ".SH COMMANDS\n" + commandList(root, "rdmove-") +
         ".SH ENVIRONMENT\n.TP\n.B RDMOVE_SOCKET\nrdmoved's unix socket, if \\fB\\-\\-socket\\fR does not "
         "name one.\n"
         ".TP\n.B COLUMNS\nThe width to draw for.\n"
         ".SH FILES\n.TP\n.I /run/rdmove/rdmoved.sock\nThe daemon's socket: for root and members of group "
         "rdmove.\n"
         ".SH SEE ALSO\n.BR rdmoved (8),\n.BR virsh (1)\n";
}

}  // namespace rdmove::cli
