// Which words an operator is offered, by where a migration stands.
#include "coordinator/migration/operator_word.hpp"

#include <gmock/gmock.h>

namespace rdmove {
namespace {

std::vector<std::string> wordsIn(Role role, const std::string& phase, Outcome outcome = Outcome::kRunning) {
  MigrationRecord record;
  record.role = role;
  record.domain = "vm1";
  record.partner = HostName("hostb");
  record.phase = phase;
  record.outcome = outcome;
  std::vector<std::string> words;
  for (const Choice& choice : predicamentOf(record).choices) {
    EXPECT_FALSE(choice.consequence.empty());
    words.emplace_back(toString(choice.word));
  }
  return words;
}

TEST(OperatorWord, is_asked_for_only_where_a_silent_host_would_have_to_speak) {
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  for (const char* phase : {"Settling", "Recalling", "Replugging", "Handover", "Releasing"})
    EXPECT_THAT(wordsIn(Role::kDeparture, phase), ElementsAre("destination-is-dead", "runs-there")) << phase;
  EXPECT_THAT(wordsIn(Role::kArrival, "Reserved"), ElementsAre("source-is-dead"));
  for (const char* phase : {"Preparing", "UnplugStuck", "Transferring", "RestoringGuest"})
    EXPECT_THAT(wordsIn(Role::kDeparture, phase), IsEmpty()) << phase;
  EXPECT_THAT(wordsIn(Role::kArrival, "Plugging"), IsEmpty());
  EXPECT_THAT(wordsIn(Role::kDeparture, "Handover", Outcome::kCompleted), IsEmpty());
}

TEST(OperatorWord, is_read_as_it_is_written) {
  for (const auto word :
       {OperatorWord::kSourceIsDead, OperatorWord::kDestinationIsDead, OperatorWord::kRunsThere})
    EXPECT_EQ(parseOperatorWord(toString(word)), word);
  EXPECT_FALSE(parseOperatorWord("dead"));
  EXPECT_FALSE(parseOperatorWord(""));
}

}  // namespace
}  // namespace rdmove
