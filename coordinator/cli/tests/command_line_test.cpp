#include "coordinator/cli/command_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace rdmove::cli {
namespace {

using testing::HasSubstr;

std::string usage(const std::vector<std::string>& arguments) {
  const CommandLine line = readCommandLine(arguments);
  const auto* error = std::get_if<UsageError>(&line);
  return error == nullptr ? "(accepted)" : error->text;
}

std::string answer(const std::vector<std::string>& arguments) {
  const CommandLine line = readCommandLine(arguments);
  const auto* text = std::get_if<Answer>(&line);
  return text == nullptr ? "(no answer)" : text->text;
}

struct UsageCase {
  std::vector<std::string> arguments;
  std::string sentence;
};

void PrintTo(const UsageCase& c, std::ostream* out) {
  *out << "rdmove";
  for (const std::string& argument : c.arguments) *out << ' ' << argument.substr(0, 40);
}

class Usage : public testing::TestWithParam<UsageCase> {};

TEST_P(Usage, is_refused_with_one_sentence) {
  EXPECT_THAT(usage(GetParam().arguments), HasSubstr(GetParam().sentence));
  EXPECT_THAT(usage(GetParam().arguments), HasSubstr("--help' says how it is used.\n"));
}

INSTANTIATE_TEST_SUITE_P(
    Grid, Usage,
    testing::Values(
        UsageCase{{}, "rdmove: name a command."}, UsageCase{{"foo"}, "rdmove: there is no command 'foo'."},
        UsageCase{{"--nope"}, "not expected: --nope"},
        UsageCase{{"migrate"}, "rdmove migrate: VM is required."},
        UsageCase{{"migrate", "vm1"}, "rdmove migrate: DEST is required."},
        UsageCase{{"migrate", "", "hostb"}, "VM: the name is empty."},
        UsageCase{{"migrate", "vm1", "hostb", "hostc"}, "not expected: hostc"},
        UsageCase{{"migrate", "vm1", "hostb", "--timeout", "-5"},
                  "--timeout: -5 is negative; give 1 to 604800 seconds."},
        UsageCase{{"migrate", "vm1", "hostb", "--timeout=0"}, "--timeout: 0 is too small"},
        UsageCase{{"migrate", "vm1", "hostb", "--timeout", "604801"}, "--timeout: 604801 is too large"},
        UsageCase{{"migrate", "vm1", "hostb", "--timeout"}, "--timeout: its value is missing."},
        UsageCase{{"migrate", "vm1", "hostb", "--timeout", "1", "--timeout", "2"},
                  "--timeout: given more than once."},
        UsageCase{{"migrate", "vm1", "hostb", "--bandwidth", "fast"},
                  "--bandwidth: 'fast' is not a whole number"},
        UsageCase{{"migrate", "vm1", "hostb", "--parallel-connections", "256"},
                  "256 is too large; give 1 to 255"},
        UsageCase{{"migrate", "vm1", "hostb", "--prepare-deadline", "0"}, "0 is too small"},
        UsageCase{{"migrate", "vm1", "hostb", "--migrateuri", "hostb"}, "--migrateuri: 'hostb' is not a URI"},
        UsageCase{{"list", "extra"}, "not expected: extra"},
        UsageCase{{"list", "--newest", "0"}, "0 is too small"},
        UsageCase{{"show"}, "rdmove show: ID is required."},
        UsageCase{{"cancel", ""}, "ID: the name is empty."},
        UsageCase{{"timeline", "a", "--svg", ""}, "--svg: the file's name is empty."},
        UsageCase{{"timeline", "a", "--svg", "f", "--json"}, "excludes"}, UsageCase{{"vf"}, "rdmove vf:"},
        UsageCase{{"agent", "vm1"}, "QUERY is required"},
        UsageCase{{"agent", "vm1", "reboot"}, "'reboot' is not a query; give status, counters or holdouts."},
        UsageCase{{"define", "vm1"}, "--vf: give it at least once, or --remove."},
        UsageCase{{"define", "vm1", "--remove", "--vf", "alias=ua-a,pool=f"}, "excludes"},
        UsageCase{{"define", "vm1", "--vf", "alias=ua-a,pool=f", "--vf", "alias=ua-a,pool=g"},
                  "'ua-a' is given twice"},
        UsageCase{{"define", "vm1", "--vf", "alias=ua-a,pool=f", "--standby", "net0"},
                  "'net0' is not a user alias"},
        UsageCase{{"doctor", "vm1", "hostb", "x"}, "not expected: x"},
        UsageCase{{"--socket", std::string(200, 'x'), "list"}, "the path is 200 bytes long"}));

TEST(CommandLineTest, names_of_commands_may_be_names_of_vms) {
  EXPECT_EQ(usage({"migrate", "list", "show"}), "(accepted)");
}

TEST(CommandLineTest, a_vf_does_not_swallow_the_vm_after_it) {
  EXPECT_EQ(usage({"define", "--vf", "alias=ua-a,pool=f", "vm1"}), "(accepted)");
}

TEST(CommandLineTest, the_socket_is_the_commands_then_the_roots_then_the_environments) {
  const auto socket = [](const std::vector<std::string>& arguments) {
    return std::get<Invocation>(readCommandLine(arguments)).socket;
  };
  ::unsetenv("RDMOVE_SOCKET");
  EXPECT_EQ(socket({"list"}), kDefaultSocket);
  ::setenv("RDMOVE_SOCKET", "/e", 1);
  EXPECT_EQ(socket({"list"}), "/e");
  EXPECT_EQ(socket({"--socket", "/r", "list"}), "/r");
  EXPECT_EQ(socket({"--socket", "/r", "list", "--socket", "/c"}), "/c");
  ::unsetenv("RDMOVE_SOCKET");
}

TEST(CommandLineTest, help_wins_over_what_is_missing_and_names_the_exit_codes) {
  EXPECT_THAT(answer({"--help"}), HasSubstr("6  lost contact with the daemon"));
  EXPECT_THAT(answer({"migrate", "--help"}), HasSubstr("Usage: rdmove migrate [OPTIONS] VM DEST"));
  EXPECT_THAT(answer({"vf", "list", "-h"}), HasSubstr("Usage: rdmove vf list [OPTIONS]"));
  EXPECT_EQ(answer({"--version"}), "rdmove " RDMOVE_VERSION "\n");
}

}  // namespace
}  // namespace rdmove::cli
