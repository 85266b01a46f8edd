// The hook as libvirt calls it: words and XML in, exit status and one line out; and the built program itself.
#include "coordinator/hook/hook.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "coordinator/hook/question.hpp"

namespace rdmove {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

const std::string kUuid = "3a1c8f52-1111-4222-8333-0a0b0c0d0e0f";
const std::string kElement =
    "<rdmove:rdma xmlns:rdmove='urn:rdmove:domain:1'><rdmove:vf alias='ua-rdma0' pool='fabric' model='roce'/>"
    "</rdmove:rdma>";

std::string domain(const std::string& metadata, const std::string& more = "") {
  return "<domain type='kvm'><name>vm1</name><uuid>" + kUuid + "</uuid><metadata>" + metadata +
         "</metadata>" + more + "</domain>";
}

/// A daemon that answers each question with `says`, or with nothing.
class FakeDaemon {
 public:
  FakeDaemon(const std::string& path, std::string says) : says_(std::move(says)) {
    listener_ = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeDaemon() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  /// After the conversation.
  const std::string& asked() const { return asked_; }

 private:
  void serve() {
    for (int fd; (fd = accept(listener_, nullptr, nullptr)) >= 0; close(fd)) {
      char text[1024];
      const ssize_t got = read(fd, text, sizeof(text));
      if (got > 0) asked_.assign(text, static_cast<std::size_t>(got));
      if (!says_.empty()) {
        EXPECT_EQ(write(fd, says_.data(), says_.size()), static_cast<ssize_t>(says_.size()));
      } else {
        EXPECT_EQ(read(fd, text, sizeof(text)), 0);  // until the hook has lost its patience
      }
    }
  }

  std::string says_;
  std::string asked_;
  int listener_ = -1;
  std::thread thread_;
};

class Hook : public testing::Test {
 protected:
  Hook() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rdmove-hook-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    places_.socket = directory_ + "/hook.sock";
    places_.mark = directory_ + "/run/hook-called";
    places_.restart = milliseconds(0);
    places_.answer = milliseconds(5000);
  }
  ~Hook() override { std::filesystem::remove_all(directory_); }

  HookEnd call(const std::vector<std::string>& words, const std::string& xml) {
    FILE* file = std::tmpfile();
    std::fwrite(xml.data(), 1, xml.size(), file);
    std::rewind(file);
    const HookEnd end = runHook(words, fileno(file), places_);
    std::fclose(file);
    return end;
  }
  HookEnd arrives(const std::string& xml) {
    return call({"/etc/libvirt/hooks/qemu.d/rdmove", "vm1", "migrate", "begin", "-"}, xml);
  }

  std::string directory_;
  HookPlaces places_;
};

TEST_F(Hook, a_vm_without_our_metadata_comes_in_whether_or_not_the_daemon_runs) {
  for (const char* metadata :
       {"", "<rdma xmlns='urn:somebody:else'><vf/></rdma>", "<note>urn:rdmove:domain:1</note>",
        "<rdmove:rdma xmlns:rdmove='urn:rdmove:domain:1'/>"}) {
    const HookEnd end = arrives(domain(metadata));
    EXPECT_EQ(end.status, 0) << metadata;
    EXPECT_EQ(end.line, "");
  }
}

TEST_F(Hook, a_vm_that_the_daemon_expects_comes_in) {
  FakeDaemon daemon(places_.socket, "yes\n");
  const HookEnd end = arrives(domain(kElement));
  EXPECT_EQ(end.status, 0) << end.line;
  EXPECT_EQ(daemon.asked(), "incoming " + kUuid + " vm1\n");
}

TEST_F(Hook, the_metadata_is_known_by_its_namespace_whatever_its_prefix) {
  FakeDaemon daemon(places_.socket, "no because.\n");
  for (const std::string& metadata :
       {kElement, std::string("<rdma xmlns='urn:rdmove:domain:1'><vf alias='a'/></rdma>"),
        std::string("<x:rdma xmlns:x='urn:rdmove:domain:1'><x:vf/></x:rdma>")})
    EXPECT_EQ(arrives(domain(metadata)).status, 1) << metadata;
}

TEST_F(Hook, a_refusal_is_the_daemons_reason_in_one_line) {
  FakeDaemon daemon(places_.socket, "no vm1 was not prepared for hostb. Use rdmove migrate vm1 hostb.\n");
  const HookEnd end = arrives(domain(kElement));
  EXPECT_EQ(end.status, 1);
  EXPECT_EQ(end.line, "rdmove: vm1 was not prepared for hostb. Use rdmove migrate vm1 hostb.");
}

TEST_F(Hook, without_a_daemon_a_vm_with_metadata_is_refused_and_told_what_to_start) {
  const HookEnd end = arrives(domain(kElement));
  EXPECT_EQ(end.status, 1);
  EXPECT_THAT(end.line, HasSubstr("vm1 has RDMA devices"));
  EXPECT_THAT(end.line, HasSubstr("systemctl start rdmoved"));
}

TEST_F(Hook, a_daemon_that_is_being_restarted_is_waited_for) {
  places_.restart = milliseconds(10000);
  std::thread later;
  std::unique_ptr<FakeDaemon> daemon;
  // It comes up after the hook was called; nothing shows when the hook has found nobody there.
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  later = std::thread([&] {
    const std::string xml = domain(kElement);
    EXPECT_EQ(write(pipe_ends[1], xml.data(), xml.size()), static_cast<ssize_t>(xml.size()));
    close(pipe_ends[1]);
    daemon = std::make_unique<FakeDaemon>(places_.socket, "yes\n");
  });
  const HookEnd end = runHook({"qemu.d/rdmove", "vm1", "migrate", "begin", "-"}, pipe_ends[0], places_);
  later.join();
  close(pipe_ends[0]);
  EXPECT_EQ(end.status, 0) << end.line;
}

TEST_F(Hook, a_daemon_that_says_nothing_is_not_waited_for_longer_than_its_time) {
  places_.answer = milliseconds(50);
  FakeDaemon daemon(places_.socket, "");
  const HookEnd end = arrives(domain(kElement));
  EXPECT_EQ(end.status, 1);
  EXPECT_THAT(end.line, HasSubstr("does not answer"));
}

TEST_F(Hook, an_answer_of_another_version_refuses) {
  FakeDaemon daemon(places_.socket, "maybe\n");
  const HookEnd end = arrives(domain(kElement));
  EXPECT_EQ(end.status, 1);
  EXPECT_THAT(end.line, HasSubstr("one version"));
}

TEST_F(Hook, other_operations_are_let_through_unread) {
  for (const char* operation :
       {"prepare", "start", "started", "stopped", "release", "reconnect", "restore", "new-one"}) {
    const HookEnd end = runHook({"qemu.d/rdmove", "vm1", operation, "begin", "-"}, -1, places_);
    EXPECT_EQ(end.status, 0) << operation << end.line;
  }
  EXPECT_EQ(runHook({"qemu.d/rdmove", "vm1", "migrate", "end", "-"}, -1, places_).status, 0);
}

TEST_F(Hook, wrong_arguments_are_an_error_that_says_who_calls_it) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"rdmove"},
                                                {"rdmove", "vm1"},
                                                {"rdmove", "vm1", "migrate", "begin"},
                                                {"rdmove", "vm1", "migrate", "begin", "-", "more"},
                                                {"rdmove", "", "migrate", "begin", "-"}}) {
    const HookEnd end = runHook(words, -1, places_);
    EXPECT_EQ(end.status, 2);
    EXPECT_THAT(end.line, HasSubstr("libvirt's hook"));
    EXPECT_THAT(end.line, Not(HasSubstr("\n")));
  }
}

TEST_F(Hook, called_by_hand_without_input_it_does_not_wait_for_ever) {
  places_.input = milliseconds(50);
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const HookEnd end = runHook({"rdmove", "vm1", "migrate", "begin", "-"}, pipe_ends[0], places_);
  EXPECT_EQ(end.status, 1);
  EXPECT_THAT(end.line, HasSubstr("standard input"));
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST_F(Hook, much_xml_without_metadata_comes_in_and_with_metadata_is_refused) {
  const std::string much(10 * 1024 * 1024, 'x');
  EXPECT_EQ(arrives(domain("", "<description>" + much + "</description>")).status, 0);
  const HookEnd end = arrives(domain(kElement, "<description>" + much + "</description>"));
  EXPECT_EQ(end.status, 1);
  EXPECT_THAT(end.line, HasSubstr("more than 1 MiB"));
}

TEST_F(Hook, bombs_are_refused_without_an_explosion) {
  std::string deep = domain(kElement);
  for (int i = 0; i < 100000; ++i) deep += "<a>";
  EXPECT_EQ(arrives(deep).status, 1);
  std::string nested;
  for (int i = 0; i < 1000; ++i) nested += "<a>";
  for (int i = 0; i < 1000; ++i) nested += "</a>";
  EXPECT_THAT(arrives(domain(kElement, nested)).line, HasSubstr("deeper than"));
  // Entities are not expanded at all, so ten to the ninth laughs are ten characters.
  const std::string laughs =
      "<!DOCTYPE d [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;'><!ENTITY c "
      "'&b;&b;&b;&b;&b;&b;&b;'>]>";
  EXPECT_EQ(arrives(laughs + domain(kElement, "<title>&c;</title>")).status, 1);
  EXPECT_EQ(arrives("urn:rdmove:domain:1").status, 1);
}

TEST_F(Hook, a_name_cannot_break_the_line) {
  const HookEnd end = call({"qemu.d/rdmove", "vm\n1\x1b[31m", "migrate", "begin", "-"}, domain(kElement));
  EXPECT_EQ(end.status, 1);
  EXPECT_THAT(end.line, Not(HasSubstr("\n")));
  EXPECT_THAT(end.line, Not(HasSubstr("\x1b")));
}

TEST(HookProgram, ends_with_its_status_and_leaves_nobody_with_its_pipes) {
  // popen's read ends only when every holder of the pipe has gone.
  FILE* ran = popen("echo '<domain/>' | " RDMOVE_HOOK " vm1 migrate begin - 2>&1", "r");
  char text[512];
  EXPECT_EQ(std::fread(text, 1, sizeof(text), ran), 0U);
  EXPECT_EQ(pclose(ran), 0);
  ran = popen(RDMOVE_HOOK " 2>&1", "r");
  const std::size_t got = std::fread(text, 1, sizeof(text), ran);
  EXPECT_THAT(std::string(text, got), HasSubstr("rdmove: this program is libvirt's hook"));
  EXPECT_EQ(WEXITSTATUS(pclose(ran)), 2);
}

TEST(HookQuestion, is_read_as_it_was_written) {
  const auto question = readQuestion("incoming " + kUuid + " a vm with spaces");
  ASSERT_TRUE(question);
  EXPECT_EQ(question->uuid.str(), kUuid);
  EXPECT_EQ(question->name, "a vm with spaces");
  EXPECT_EQ(questionLine(*question), "incoming " + kUuid + " a vm with spaces\n");
  for (const std::string& other : {std::string(), std::string("incoming"), std::string("incoming x y"),
                                   "incoming " + kUuid, "PRI * HTTP/2.0 " + kUuid + " vm1"})
    EXPECT_FALSE(readQuestion(other)) << other;
  EXPECT_EQ(answerLine({}), "yes\n");
  EXPECT_EQ(answerLine(failure(ErrorCode::kRefused, "", "two\nlines")), "no two lines.\n");
}

}  // namespace
}  // namespace rdmove
