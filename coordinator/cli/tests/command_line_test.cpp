#include "coordinator/cli/command_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "coordinator/cli/commands/evacuate.hpp"
#include "coordinator/cli/commands/migrate.hpp"
#include "coordinator/cli/virsh_flags.hpp"

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

/// What `rdmove migrate vm1 hostb` with these options would ask of the daemon.
v1::MigrateOptions optionsOf(std::vector<std::string> options) {
  options.insert(options.begin(), {"migrate", "vm1", "hostb"});
  const CommandLine line = readCommandLine(options);
  const auto* command = dynamic_cast<MigrateCommand*>(std::get<Invocation>(line).command.get());
  return command->options().request.options();
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
        UsageCase{{"agent", "vm1", "reboot"},
                  "'reboot' is not a query; give status, apps, counters, holdouts or peers."},
        UsageCase{{"agent", "vm1", "apps", "--watch"}, "--watch: only counters can be watched."},
        UsageCase{{"agent", "vm1", "counters", "--interval", "5"}, "--watch"},
        UsageCase{{"agent", "vm1", "counters", "--watch", "--interval", "0"},
                  "0 is too small; give 1 to 86400 seconds"},
        UsageCase{{"evacuate", "--max-parallel", "0"}, "0 is too small; give 1 to 16 VMs"},
        UsageCase{{"evacuate", "hostb", "--per-fabric", "17"}, "17 is too large; give 1 to 16 VMs"},
        UsageCase{{"evacuate", ""}, "DEST"},
        UsageCase{{"define", "vm1"}, "--vf: give it at least once, or --remove."},
        UsageCase{{"define", "vm1", "--remove", "--vf", "alias=ua-a,pool=f"}, "excludes"},
        UsageCase{{"define", "vm1", "--vf", "alias=ua-a,pool=f", "--vf", "alias=ua-a,pool=g"},
                  "'ua-a' is given twice"},
        UsageCase{{"define", "vm1", "--vf", "alias=ua-a,pool=f", "--standby", "net0"},
                  "'net0' is not a user alias"},
        UsageCase{{"doctor", "vm1", "hostb", "x"}, "not expected: x"},
        UsageCase{{"--socket", std::string(200, 'x'), "list"}, "the path is 200 bytes long"}));

INSTANTIATE_TEST_SUITE_P(
    VirshFlags, Usage,
    testing::Values(
        UsageCase{{"migrate", "vm1", "hostb", "--live"}, "rdmove migrate: --live: rdmove does so by itself"},
        UsageCase{{"migrate", "--p2p", "vm1", "hostb"}, "--p2p: rdmove does so by itself"},
        UsageCase{{"migrate", "vm1", "hostb", "--dname", "vm2"},
                  "rdmove migrate: --dname: a VM keeps its name"},
        UsageCase{{"migrate", "vm1", "hostb", "--dname=vm2"}, "rdmove migrate: --dname: a VM keeps its name"},
        // Its value, taken for the VM, must not hide it; nor must what is missing.
        UsageCase{{"migrate", "--xml", "new.xml", "vm1", "hostb"}, "rdmove migrate: --xml: "},
        UsageCase{{"migrate", "--offline"}, "rdmove migrate: --offline: a VM that does not run"},
        // Another command has no such options, and a word that only looks like one is just unknown.
        UsageCase{{"list", "--live"}, "not expected: --live"},
        UsageCase{{"migrate", "vm1", "hostb", "--livelong"}, "not expected: --livelong"}));

TEST(VirshFlags, each_is_refused_by_name_with_one_sentence) {
  for (const std::string_view name : refusedVirshFlags()) {
    const std::string text = usage({"migrate", "vm1", "hostb", std::string(name)});
    const std::string first = text.substr(0, text.find('\n'));
    EXPECT_THAT(first, testing::StartsWith("rdmove migrate: " + std::string(name) + ": "));
    EXPECT_THAT(first, testing::EndsWith("."));
    EXPECT_THAT(first, testing::Not(HasSubstr(". ")));
  }
}

TEST(VirshFlags, none_that_is_refused_is_an_option_of_ours) {
  for (const CommandDoc& command : describeCommands().commands) {
    if (command.name != "migrate") continue;
    for (const OptionDoc& option : command.options) EXPECT_EQ(virshFlagRefusal(option.name), std::nullopt);
  }
}

TEST(VirshFlags, virsh_migrates_flags_are_either_taken_or_refused) {
  for (const char* flag : {"--live",
                           "--offline",
                           "--p2p",
                           "--direct",
                           "--tunnelled",
                           "--persistent",
                           "--undefinesource",
                           "--suspend",
                           "--copy-storage-all",
                           "--copy-storage-inc",
                           "--copy-storage-synchronous-writes",
                           "--change-protection",
                           "--unsafe",
                           "--verbose",
                           "--compressed",
                           "--auto-converge",
                           "--rdma-pin-all",
                           "--abort-on-error",
                           "--postcopy",
                           "--postcopy-after-precopy",
                           "--postcopy-resume",
                           "--zerocopy",
                           "--domain",
                           "--desturi",
                           "--migrateuri",
                           "--graphicsuri",
                           "--listen-address",
                           "--dname",
                           "--timeout",
                           "--timeout-suspend",
                           "--timeout-postcopy",
                           "--xml",
                           "--migrate-disks",
                           "--disks-port",
                           "--disks-uri",
                           "--comp-methods",
                           "--comp-mt-level",
                           "--comp-mt-threads",
                           "--comp-mt-dthreads",
                           "--comp-xbzrle-cache",
                           "--auto-converge-initial",
                           "--auto-converge-increment",
                           "--persistent-xml",
                           "--tls",
                           "--postcopy-bandwidth",
                           "--parallel",
                           "--parallel-connections",
                           "--bandwidth",
                           "--tls-destination"}) {
    EXPECT_THAT(usage({"migrate", "vm1", "hostb", flag}), testing::Not(HasSubstr("not expected")));
  }
}

TEST(CommandLineTest, parallel_alone_is_two_connections_and_a_number_needs_no_parallel) {
  EXPECT_EQ(optionsOf({}).parallel_connections(), 0U);
  EXPECT_EQ(optionsOf({"--parallel"}).parallel_connections(), 2U);
  EXPECT_EQ(optionsOf({"--parallel", "--parallel-connections", "8"}).parallel_connections(), 8U);
  EXPECT_EQ(optionsOf({"--parallel-connections", "8", "--parallel"}).parallel_connections(), 8U);
  EXPECT_EQ(optionsOf({"--parallel-connections", "8"}).parallel_connections(), 8U);
}

TEST(CommandLineTest, an_evacuation_is_read_with_its_destinations_and_limits) {
  const auto requestOf = [](const std::vector<std::string>& arguments) {
    const auto line = readCommandLine(arguments);
    return dynamic_cast<EvacuateCommand&>(*std::get<Invocation>(line).command).options();
  };
  const auto all = requestOf({"evacuate"});
  EXPECT_EQ(all.request.destinations_size(), 0);
  EXPECT_EQ(all.request.max_parallel(), 0U);
  EXPECT_FALSE(all.dry_run);
  const auto some = requestOf({"evacuate", "hostb", "hostc", "--max-parallel", "4", "--per-fabric", "2",
                               "--peers-together", "--dry-run", "--bandwidth", "500", "--tls"});
  ASSERT_EQ(some.request.destinations_size(), 2);
  EXPECT_EQ(some.request.destinations(1), "hostc");
  EXPECT_EQ(some.request.max_parallel(), 4U);
  EXPECT_EQ(some.request.per_fabric(), 2U);
  EXPECT_TRUE(some.request.peers_together() && some.dry_run && some.request.options().tls());
  EXPECT_EQ(some.request.options().bandwidth_mib(), 500U);
}

TEST(CommandLineTest, virshs_options_reach_the_daemon) {
  const auto options = optionsOf({"--auto-converge", "--tls", "--copy-storage-all", "--postcopy",
                                  "--bandwidth", "500", "--migrateuri", "tcp://hostb:49152"});
  EXPECT_TRUE(options.auto_converge() && options.tls() && options.copy_storage_all() && options.postcopy());
  EXPECT_EQ(options.bandwidth_mib(), 500U);
  EXPECT_EQ(options.migrate_uri(), "tcp://hostb:49152");
}

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
