// A subnet whose answers a test makes.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "coordinator/fabric/subnet/subnet.hpp"

namespace rdmove {

class FakeSubnet final : public Subnet {
 public:
  std::map<Gid, Path> paths;
  std::map<Guid, Lid> lids;
  std::map<Lid, Attachment> cables;
  std::map<Lid, Guid> answering;
  std::optional<Error> fails;
  std::vector<std::string> asked;

  Result<std::optional<Path>> path(const Gid& to) override { return look(paths, to); }
  Result<std::optional<SubnetNode>> node(Guid port) override {
    const auto lid = look(lids, port);
    if (!lid) return tl::unexpected(lid.error());
    return *lid ? std::optional(SubnetNode{**lid, {}, port}) : std::nullopt;
  }
  Result<std::optional<SubnetNode>> node(Lid) override { return std::nullopt; }
  Result<std::optional<Attachment>> attachment(Lid lid, unsigned) override { return look(cables, lid); }
  Result<SubnetNode> ask(Lid lid) override {
    if (!answering.contains(lid)) return failure(ErrorCode::kTimeout, "ask", "nobody has answered there");
    return SubnetNode{lid, {}, answering[lid]};
  }
  Result<void> join(const Gid& group, const Gid&, JoinState) override { return did("join " + group.str()); }
  Result<void> subscribe(unsigned trap, bool) override { return did("trap " + std::to_string(trap)); }
  Result<Lid> self() override { return Lid(9); }
  std::uint64_t subnet_prefix = 0xfe80000000000000;
  Result<std::uint64_t> prefix() override { return subnet_prefix; }
  Result<Guid> setAliasGuid(Lid, unsigned, Guid guid) override { return guid; }

 private:
  template <class Key, class Value>
  Result<std::optional<Value>> look(const std::map<Key, Value>& in, const Key& key) {
    if (fails) return tl::unexpected(*fails);
    const auto found = in.find(key);
    return found == in.end() ? std::nullopt : std::optional(found->second);
  }
  Result<void> did(const std::string& what) {
    asked.push_back(what);
    if (fails) return tl::unexpected(*fails);
    return {};
  }
};

}  // namespace rdmove
