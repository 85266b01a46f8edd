// What is refused before anything changes: exit 3, one clear sentence, and the VM as it was.
#include "lab.hpp"

namespace rdmove::lab {
namespace {

class BadInput : public Lab {
 protected:
  static void expectRefused(const std::vector<std::string>& words, const std::string& says) {
    const Outcome refused = rdmove("hosta", words);
    EXPECT_EQ(refused.status, 3) << refused.output;
    EXPECT_NE(refused.output.find(says), std::string::npos) << refused.output;
  }
};

TEST_F(BadInput, is_refused_with_a_sentence_and_changes_nothing) {
  expectRefused({"migrate", "nosuch", "hostb"}, "no domain nosuch");
  expectRefused({"migrate", "vm1", "hostz"}, "hostz");
  expectRefused({"migrate", "vm1", "hosta"}, "hosta");
  expectRefused({"cancel", "nosuch"}, "nosuch");
  expectRefused({"show", "nosuch"}, "nosuch");

  virsh("hosta", {"metadata", "vm1", "urn:rdmove:domain:1", "--live", "--remove"});
  expectRefused({"migrate", "vm1", "hostb"}, "no rdma metadata");
  EXPECT_EQ(rdmove("hosta", {"define", "vm1", "--vf", "alias=ua-rdma0,pool=fabric"}).status, 0);
  const std::string before = xml("hosta", "vm1");
  expectRefused({"define", "vm1", "--vf", "alias=ua-nosuch,pool=fabric"}, "ua-nosuch");
  expectRefused({"define", "vm1", "--vf", "alias=ua-rdma0,pool=nosuch"}, "nosuch");
  EXPECT_EQ(rdmove("hosta", {"migrate", "vm1", "hostb", "--dry-run"}).status, 0);

  // An alias that is not in the XML, written past rdmove.
  virsh("hosta", {"metadata", "vm1", "urn:rdmove:domain:1", "--live", "--key", "rdma", "--set",
                  "<rdma><vf alias='ua-nosuch' pool='fabric' model='roce' continuity='reconnect'/></rdma>"});
  expectRefused({"migrate", "vm1", "hostb"}, "no device with alias ua-nosuch");
  EXPECT_EQ(rdmove("hosta", {"define", "vm1", "--vf", "alias=ua-rdma0,pool=fabric"}).status, 0);

  // A domain that is only defined.
  on("hosta", {"sh", "-c",
               "virsh -q define /dev/stdin <<X\n<domain "
               "type='qemu'><name>vm9</name><memory>65536</memory><os><type>hvm</type></os></domain>\nX"});
  ASSERT_EQ(state("hosta", "vm9"), "shut off");
  expectRefused({"migrate", "vm9", "hostb"}, "vm9 is not running (shut off");
  EXPECT_EQ(state("hosta", "vm9"), "shut off");
  virsh("hosta", {"undefine", "vm9"});

  // The peer's NIC takes the one slot of a small pool; then the pool has no counterpart at all.
  lab({"daemon", "stop", "hostb"});
  on("hostb", {"sed", "-i", "s/^slots = 8/slots = 1/", "/etc/rdmove/rdmoved.toml"});
  lab({"daemon", "start", "hostb"});
  expectRefused({"migrate", "vm1", "hostb"}, "has 0 free");
  lab({"daemon", "stop", "hostb"});
  on("hostb",
     {"sed", "-i", "s/^slots = 1/slots = 8/; s/^\\[pools.fabric\\]/[pools.other]/; s/\"fabric\"/\"other\"/",
      "/etc/rdmove/rdmoved.toml"});
  lab({"daemon", "start", "hostb"});
  expectRefused({"migrate", "vm1", "hostb"}, "no pool fabric");
  on("hostb",
     {"sed", "-i", "s/pools.other/pools.fabric/; s/\"other\"/\"fabric\"/", "/etc/rdmove/rdmoved.toml"});
  lab({"daemon", "stop", "hostb"});
  lab({"daemon", "start", "hostb"});

  virsh("hosta", {"suspend", "vm1"});
  expectRefused({"migrate", "vm1", "hostb"}, "not running");
  virsh("hosta", {"resume", "vm1"});

  lab({"daemon", "stop", "hostb"});
  expectRefused({"migrate", "vm1", "hostb"}, "hostb");
  lab({"daemon", "start", "hostb"});

  EXPECT_EQ(xml("hosta", "vm1"), before);
  expectWhole("vm1", "hosta");
}

TEST_F(BadInput, an_agent_that_is_not_there_is_found_by_preflight) {
  guest("vm1", "kill -STOP $(pidof rdmove-agent)");
  expectRefused({"migrate", "vm1", "hostb"}, "agent");
  guest("vm1", "kill -CONT $(pidof rdmove-agent)");
  expectWhole("vm1", "hosta");
}

}  // namespace
}  // namespace rdmove::lab
