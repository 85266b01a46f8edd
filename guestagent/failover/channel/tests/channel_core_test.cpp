// A channel over real connections between machines of the fake world: what the session alone cannot show is
// that its memory, regions and keys follow from one device to the next.
#include "guestagent/failover/channel/channel_core.hpp"

#include <gmock/gmock.h>

#include <cstring>

#include "guestagent/failover/connection/tests/connection_fixture.hpp"

namespace rdmove::failover::conn::fake {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class End : public ChannelHandler {
 public:
  void up(Channel&) override { ++ups; }
  void down(Channel&, DownReason) override { ++downs; }
  void gone(Channel&, const ChannelEnd& told) override { end = told; }
  void received(Channel&, std::span<const std::byte> message) override {
    heard.emplace_back(reinterpret_cast<const char*>(message.data()), message.size());
    if (on_message) on_message();
  }

  Result<std::uint64_t> send(std::string_view text) const {
    return channel->send(std::as_bytes(std::span(text.data(), text.size())));
  }

  std::unique_ptr<Channel> channel;
  std::vector<std::string> heard;
  std::function<void()> on_message;
  std::optional<ChannelEnd> end;
  int ups = 0;
  int downs = 0;
};

class Channels : public World, public ListenerHandler {
 protected:
  void SetUp() override {
    listener = std::make_shared<ListenerCore>(b->hub, *SocketAddress::parse("0.0.0.0", 7000), *this);
    ASSERT_TRUE(listener->listen());
    const ChannelOptions options;
    const auto session = ChannelCore::check(options);
    const auto core = std::make_shared<ChannelCore>(a->hub, *session, near);
    core->own(connect_on(a->hub, *SocketAddress::parse("10.0.0.2", 7000),
                         ChannelCore::connection_options(options, *session), *core, std::nullopt));
    near.channel = ChannelCore::handle(core);
    ASSERT_TRUE(near.channel->register_region("own", own.data(), own.size(), RegionAccess::Local));
    run(milliseconds(200));
    ASSERT_EQ(near.ups, 1);
    ASSERT_TRUE(far.channel);
    ASSERT_TRUE(
        far.channel->register_region("shown", shown.data(), shown.size(), RegionAccess::RemoteReadWrite));
    run(milliseconds(50));
    ASSERT_EQ(near.channel->peer_region("shown"), shown.size());
  }
  void TearDown() override {
    far.channel.reset();
    near.channel.reset();
    run(milliseconds(50));
    expect_order();
  }
  void requested(ConnectionRequest& request) override {
    auto accepted = Channel::accept(request, {}, far);
    ASSERT_TRUE(accepted);
    far.channel = std::move(*accepted);
  }
  void lose(Machine& machine, milliseconds away) {
    machine.port.remove_device();
    run(away);
    machine.port.add_device();
    machine.hub.way_appeared();
    run(milliseconds(200));
  }
  Result<void> write(std::string_view text) {
    std::memcpy(own.data(), text.data(), text.size());
    return near.channel->write({"own", 0, text.size()}, "shown", 0, [this](const Result<void>& result) {
      done.push_back(result ? "written" : "not written");
    });
  }
  [[nodiscard]] std::string shown_text(std::size_t length) const { return {shown.data(), length}; }

  End near;
  End far;
  std::shared_ptr<ListenerCore> listener;
  std::array<char, 256> own{};
  std::array<char, 256> shown{};
  std::vector<std::string> done;
};

TEST_F(Channels, messages_come_once_and_in_order_over_devices_that_leave) {
  std::vector<std::string> sent;
  for (int i = 0; i < 60; ++i) {
    sent.push_back("message " + std::to_string(i));
    if (i % 10 == 3) a->port.remove_device();  // nobody has noticed when the next are sent
    if (i % 10 == 7) b->port.remove_device();
    ASSERT_TRUE(near.send(sent.back()));
    ASSERT_TRUE(far.send(sent.back()));
    if (i % 10 == 3) lose(*a, milliseconds(200));
    if (i % 10 == 7) lose(*b, milliseconds(200));
    if (i % 5 == 0) run(milliseconds(20));
  }
  run(milliseconds(500));
  EXPECT_EQ(far.heard, sent);
  EXPECT_EQ(near.heard, sent);
  EXPECT_GE(near.downs, 12);
  EXPECT_GT(near.channel->resent() + far.channel->resent(), 0U);
}

TEST_F(Channels, what_went_again_is_reported_even_if_the_channel_ends_before_it_is_acknowledged) {
  b->port.remove_device();
  ASSERT_TRUE(near.send("again"));
  run(milliseconds(300));
  b->port.add_device();
  b->hub.way_appeared();
  while (near.channel->resent() == 0) run(milliseconds(10));
  near.channel->close();
  EXPECT_EQ(a->hub.report().resent, 1U);
}

TEST_F(Channels, a_write_is_there_when_the_message_after_it_is) {
  std::string seen;
  far.on_message = [&] { seen = shown_text(5); };
  ASSERT_TRUE(write("hello"));
  ASSERT_TRUE(near.send("look"));
  run(milliseconds(50));
  EXPECT_EQ(seen, "hello");
  EXPECT_THAT(done, ElementsAre("written"));
}

TEST_F(Channels, regions_have_their_new_keys_after_either_device_has_left) {
  for (Machine* machine : {a.get(), b.get()}) {
    lose(*machine, milliseconds(300));
    done.clear();
    ASSERT_TRUE(write("again"));
    run(milliseconds(50));
    EXPECT_THAT(done, ElementsAre("written"));
    EXPECT_EQ(shown_text(5), "again");
    std::memcpy(shown.data(), "read me", 7);
    ASSERT_TRUE(near.channel->read("shown", 0, {"own", 100, 7}, [&](const Result<void>& result) {
      done.push_back(result ? "read" : "not read");
    }));
    run(milliseconds(50));
    EXPECT_THAT(done, ElementsAre("written", "read"));
    EXPECT_EQ(std::string(own.data() + 100, 7), "read me");
  }
  EXPECT_EQ(near.downs, 2);
}

TEST_F(Channels, a_write_whose_end_is_not_known_is_done_again_before_the_message_that_follows) {
  fabric.lose_words = 1;
  ASSERT_TRUE(write("twice"));
  ASSERT_EQ(fabric.writes, 1);
  std::memcpy(shown.data(), "other", 5);  // what the peer may put there as long as it has no word
  std::string seen;
  far.on_message = [&] { seen = shown_text(5); };
  a->port.remove_device();
  ASSERT_TRUE(near.send("look"));
  run(milliseconds(300));
  EXPECT_THAT(done, IsEmpty());
  a->port.add_device();
  a->hub.way_appeared();
  run(milliseconds(200));
  EXPECT_EQ(fabric.writes, 2);
  EXPECT_THAT(done, ElementsAre("written"));
  EXPECT_EQ(seen, "twice");
}

TEST_F(Channels, a_write_comes_no_more_once_a_message_after_it_is_acknowledged) {
  ASSERT_TRUE(write("first"));
  ASSERT_TRUE(near.send("look"));
  run(milliseconds(50));
  ASSERT_EQ(near.channel->acknowledged(), 1U);
  std::memcpy(shown.data(), "mine!", 5);
  lose(*a, milliseconds(300));
  lose(*b, milliseconds(300));
  EXPECT_EQ(fabric.writes, 1);
  EXPECT_EQ(shown_text(5), "mine!");
}

TEST_F(Channels, a_region_that_was_withdrawn_meanwhile_is_answered_and_the_rest_goes_on) {
  b->port.remove_device();
  run(milliseconds(300));
  ASSERT_TRUE(far.channel->withdraw_region("shown"));
  ASSERT_TRUE(write("lost"));
  ASSERT_TRUE(near.send("after it"));
  b->port.add_device();
  b->hub.way_appeared();
  run(milliseconds(300));
  EXPECT_THAT(done, ElementsAre("not written"));
  EXPECT_THAT(far.heard, ElementsAre("after it"));
}

TEST_F(Channels, a_channel_that_outlives_its_loop_says_so_and_touches_nothing_of_it) {
  ASSERT_TRUE(near.send("one"));  // there is a word that it waits for, and a time to look
  a.reset();
  (void)near.send("two");
  near.channel->unpause();
  near.channel.reset();
  EXPECT_FALSE(near.end && near.end->why.reason != GoneReason::Closed);
}

TEST_F(Channels, what_became_of_the_messages_is_told_when_the_peer_is_another_process) {
  ASSERT_TRUE(near.send("one"));
  run(milliseconds(50));
  ASSERT_EQ(near.channel->acknowledged(), 1U);
  ASSERT_TRUE(near.send("two"));  // it arrives, and no word comes back
  listener->close();
  far.channel.reset();
  b.reset();
  run(seconds(2));
  ASSERT_EQ(near.downs, 1);
  ASSERT_TRUE(near.send("three"));
  b = std::make_unique<Machine>(fabric, "10.0.0.2", 77, clock);
  b->listen(7000);
  run(seconds(13));
  ASSERT_TRUE(near.end);
  EXPECT_EQ(near.end->why.reason, GoneReason::PeerRestarted);
  EXPECT_EQ(near.end->acknowledged, (MessageRange{1, 1}));
  EXPECT_EQ(near.end->unknown, (MessageRange{2, 2}));
  EXPECT_EQ(near.end->unsent, (MessageRange{3, 3}));
}

}  // namespace
}  // namespace rdmove::failover::conn::fake
