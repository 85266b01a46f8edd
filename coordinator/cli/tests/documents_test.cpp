#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/cli/command_line.hpp"
#include "coordinator/cli/completion.hpp"
#include "coordinator/cli/exit_code.hpp"
#include "coordinator/cli/man.hpp"

namespace rdmove::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ManPages, there_is_one_for_each_command_with_all_its_options) {
  const CommandDoc root = describeCommands();
  ASSERT_EQ(root.commands.size(), 15U);
  for (const CommandDoc& command : root.commands) {
    const std::string page = manPage(root, command.name == "vf" ? "vf-list" : command.name);
    ASSERT_THAT(page, HasSubstr(".SH SYNOPSIS")) << command.name;
    EXPECT_THAT(page, HasSubstr("\\-\\-json")) << command.name;
    EXPECT_THAT(page, HasSubstr("\\-\\-socket")) << command.name;
  }
  EXPECT_THAT(manPage(root, "vf-show"), HasSubstr(".I VF"));
  EXPECT_THAT(manPage(root, "migrate"), HasSubstr("\\-\\-parallel\\-connections\\fR \\fIN\\fR"));
  EXPECT_EQ(manPage(root, "nonsense"), "");
}

TEST(ManPages, the_main_one_has_the_exit_codes_and_leaves_out_what_is_hidden) {
  const std::string page = manPage(describeCommands(), "");
  EXPECT_THAT(page, HasSubstr("6  lost contact with the daemon"));
  EXPECT_THAT(page, HasSubstr("RDMOVE_SOCKET"));
  EXPECT_THAT(page, Not(HasSubstr("rdmove\\-completion")));
}

TEST(ManPages, lines_cannot_become_roff_requests) {
  const CommandDoc root{"rdmove", "s", ".so /etc/passwd\n'x\nback\\slash\n", {}, {}};
  const std::string page = manPage(root, "");
  EXPECT_THAT(page, HasSubstr("\\&.so"));
  EXPECT_THAT(page, HasSubstr("\\&'x"));
  EXPECT_THAT(page, HasSubstr("back\\eslash"));
}

TEST(Completion, knows_commands_options_and_who_to_ask) {
  const std::string script = bashCompletion(describeCommands());
  EXPECT_THAT(script, HasSubstr("':0') echo 'migrate evacuate prepare list show watch timeline report export "
                                "cancel resolve vf agent doctor define'"));
  EXPECT_THAT(script, HasSubstr("' cancel:0') _rdmove_daemon_words ids"));
  EXPECT_THAT(script, HasSubstr("' agent:1') echo 'status apps counters holdouts peers'"));
  EXPECT_THAT(script, HasSubstr("' evacuate:'*) _rdmove_daemon_words hosts"));
  EXPECT_THAT(script, HasSubstr("--parallel-connections"));
  EXPECT_THAT(script, Not(HasSubstr("{valued}")));
}

}  // namespace
}  // namespace rdmove::cli
