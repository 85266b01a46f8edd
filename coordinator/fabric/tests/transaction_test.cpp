#include "coordinator/fabric/identity/transaction.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmove::fabric {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct Transaction : testing::Test {
  Step step(const std::string& name) {
    const auto act = [this, name](const std::string& verb) -> Result<void> {
      said.push_back(verb + " " + name);
      if (said.back() == failing || said.back() == failing_too)
        return failure(ErrorCode::kUnavailable, said.back(), "no", "Do something.");
      return {};
    };
    return {name, [act] { return act("apply"); }, [act] { return act("check"); },
            [act] { return act("undo"); }};
  }
  std::vector<Step> abc() { return {step("a"), step("b"), step("c")}; }

  std::vector<std::string> said;
  std::string failing, failing_too;
};

TEST_F(Transaction, applies_and_checks_each_in_turn) {
  EXPECT_TRUE(run("do it", abc()));
  EXPECT_THAT(said, ElementsAre("apply a", "check a", "apply b", "check b", "apply c", "check c"));
  EXPECT_TRUE(run("do nothing", {}));
}

TEST_F(Transaction, undoes_the_one_that_failed_and_those_before_it_the_last_first) {
  failing = "apply b";
  const auto result = run("do it", abc());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(result.error().sentence(), "cannot do it: cannot apply b: no. Do something.");
  EXPECT_THAT(said, ElementsAre("apply a", "check a", "apply b", "undo b", "undo a"));
}

TEST_F(Transaction, takes_a_value_that_did_not_take_for_a_failure) {
  failing = "check c";
  EXPECT_FALSE(run("do it", abc()));
  EXPECT_THAT(said, ElementsAre("apply a", "check a", "apply b", "check b", "apply c", "check c", "undo c",
                                "undo b", "undo a"));
}

TEST_F(Transaction, tells_what_could_not_be_undone_and_undoes_the_rest) {
  failing = "apply c";
  failing_too = "undo b";
  const auto result = run("do it", abc());
  EXPECT_EQ(result.error().code, ErrorCode::kInternal);
  EXPECT_EQ(result.error().sentence(),
            "cannot do it: cannot apply c: no; and to undo \"b\" failed: cannot undo b: no. Do something.");
  EXPECT_EQ(said.back(), "undo a");
}

TEST_F(Transaction, a_step_may_have_nothing_to_check_or_undo) {
  std::vector<Step> steps = abc();
  steps[0].undo = nullptr;
  steps[1].check = nullptr;
  failing = "apply c";
  EXPECT_FALSE(run("do it", steps));
  EXPECT_THAT(said, ElementsAre("apply a", "check a", "apply b", "apply c", "undo c", "undo b"));
}

}  // namespace
}  // namespace rdmove::fabric
