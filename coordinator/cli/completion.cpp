#include "coordinator/cli/completion.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rdmove::cli {
namespace {

constexpr const char* kFrame = R"bash(# bash completion for rdmove. Made by `rdmove completion bash`.

# The words that may follow COMMAND as its N-th positional.
_rdmove_positional() {
  case "$1:$2" in
{positionals}  esac
}

_rdmove_daemon_words() {
  local socket=() i
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ ${COMP_WORDS[i]} == --socket ]] && socket=(--socket "${COMP_WORDS[i + 1]}")
  done
  command rdmove completion "$1" "${socket[@]}" 2>/dev/null
}

_rdmove() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} path= positional=0 i word
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    case $word in
      {valued}) ((++i)) ;;
      -* | '=') ;;
      *)
        case "$path $word" in
          {paths}) path+=" $word" ;;
          *) ((++positional)) ;;
        esac
        ;;
    esac
  done
  case $prev in
    --socket | --svg | --html | --output) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
    {valued}) return ;;
  esac
  local words=
  if [[ $cur == -* ]]; then
    case $path in
{options}    esac
  else
    words=$(_rdmove_positional "$path" "$positional")
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _rdmove rdmove
)bash";

struct Parts {
  std::string positionals;
  std::string options;
  std::string paths;
  std::vector<std::string> valued;
};

std::string wordsFor(const OptionDoc& positional) {
  if (positional.name == "VM") return "_rdmove_daemon_words vms";
  if (positional.name == "DEST") return "_rdmove_daemon_words hosts";
  if (positional.name == "ID") return "_rdmove_daemon_words ids";
  std::string words = positional.value;
  std::replace(words.begin(), words.end(), '|', ' ');
  return words.empty() ? ":" : "echo '" + words + "'";
}

void collect(const CommandDoc& doc, const std::string& path, Parts& parts) {
  std::string options;
  std::size_t position = 0;
  for (const OptionDoc& option : doc.options) {
    if (option.positional) {
      const std::string place = option.repeatable ? "'*" : std::to_string(position++) + "'";
      parts.positionals += fmt::format("    '{}:{}) {} ;;\n", path, place, wordsFor(option));
      continue;
    }
    options += (options.empty() ? "" : " ") + option.name;
    if (!option.value.empty()) parts.valued.push_back(option.name);
  }
  parts.options += fmt::format("      '{}') words='{}' ;;\n", path, options);
  std::string commands;
  for (const CommandDoc& command : doc.commands) {
    commands += (commands.empty() ? "" : " ") + command.name;
    parts.paths += fmt::format("{}'{} {}'", parts.paths.empty() ? "" : " | ", path, command.name);
    collect(command, path + " " + command.name, parts);
  }
  if (!commands.empty()) parts.positionals += fmt::format("    '{}:0') echo '{}' ;;\n", path, commands);
}

void replaceAll(std::string& text, const std::string& mark, const std::string& by) {
  for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + by.size())) {
    text.replace(at, mark.size(), by);
  }
}

}  // namespace

std::string bashCompletion(const CommandDoc& root) {
  Parts parts;
  collect(root, "", parts);
  std::sort(parts.valued.begin(), parts.valued.end());
  parts.valued.erase(std::unique(parts.valued.begin(), parts.valued.end()), parts.valued.end());
  std::string valued;
  for (const std::string& name : parts.valued) valued += (valued.empty() ? "" : " | ") + name;
  std::string script = kFrame;
  replaceAll(script, "{positionals}", parts.positionals);
  replaceAll(script, "{options}", parts.options);
  replaceAll(script, "{paths}", parts.paths);
  replaceAll(script, "{valued}", valued);
  return script;
}

}  // namespace rdmove::cli
