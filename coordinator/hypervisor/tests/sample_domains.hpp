// Domain XML in libvirt 9.0's own form, shortened, with devices put in; SR-IOV devices as libvirt's
// documentation has them. An unshortened dump is real_domain.hpp.
#pragma once

#include <string>

namespace rdmove::samples {

inline const std::string kBridgeNic = R"(<interface type='bridge'>
      <mac address='52:54:00:77:00:01'/>
      <source bridge='br0'/>
      <target dev='vnet3'/>
      <model type='e1000e'/>
      <alias name='ua-rdma0'/>
      <rom enabled='no'/>
      <address type='pci' domain='0x0000' bus='0x02' slot='0x00' function='0x0'/>
    </interface>)";

inline const std::string kHostdevNic = R"(<interface type='hostdev' managed='yes'>
      <mac address='52:54:00:77:00:02'/>
      <driver name='vfio'/>
      <source>
        <address type='pci' domain='0x0000' bus='0x3b' slot='0x00' function='0x2'/>
      </source>
      <vlan>
        <tag id='42'/>
      </vlan>
      <alias name='ua-rdma1'/>
      <address type='pci' domain='0x0000' bus='0x03' slot='0x00' function='0x0'/>
    </interface>)";

inline const std::string kPlainHostdev = R"(<hostdev mode='subsystem' type='pci' managed='yes'>
      <driver name='vfio'/>
      <source>
        <address domain='0x0000' bus='0xaf' slot='0x1f' function='0x7'/>
      </source>
      <alias name='ua-ib0'/>
      <address type='pci' domain='0x0000' bus='0x04' slot='0x00' function='0x0'/>
    </hostdev>)";

inline std::string domainWith(const std::string& devices) {
  return R"(<domain type='qemu' id='1'>
  <name>vm1</name>
  <uuid>3a1c8f52-1111-4222-8333-0a0b0c0d0e0f</uuid>
  <metadata>
    <rdmove:rdma xmlns:rdmove="urn:rdmove:domain:1">
      <vf alias="ua-rdma0" pool="fabric-a" model="roce" continuity="reconnect"/>
    </rdmove:rdma>
  </metadata>
  <memory unit='KiB'>262144</memory>
  <os>
    <type arch='x86_64' machine='pc-q35-7.2'>hvm</type>
    <kernel>/lab/vmlinuz</kernel>
    <cmdline>console=ttyS0 name="vm1" a&amp;b</cmdline>
  </os>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <controller type='pci' index='0' model='pcie-root'>
      <alias name='pcie.0'/>
    </controller>
    )" + devices +
         R"(
    <interface type='bridge'>
      <mac address='52:54:00:aa:00:01'/>
      <source bridge='br0'/>
      <target dev='vnet2'/>
      <model type='virtio'/>
      <driver name='vhost' queues='2'>
        <guest csum='off'/>
      </driver>
      <alias name='ua-net0'/>
      <address type='pci' domain='0x0000' bus='0x01' slot='0x00' function='0x0'/>
    </interface>
    <channel type='unix'>
      <source mode='bind' path='/var/lib/libvirt/qemu/channel/target/domain-1-vm1/org.rdmove.agent.0'/>
      <target type='virtio' name='org.rdmove.agent.0' state='connected'/>
      <alias name='ua-agent0'/>
      <address type='virtio-serial' controller='0' bus='0' port='1'/>
    </channel>
  </devices>
</domain>
)";
}

}  // namespace rdmove::samples
