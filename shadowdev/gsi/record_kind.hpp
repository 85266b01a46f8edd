// What differs between multicast memberships and event subscriptions, as SharedRecords counts them. No state,
// any thread.
#pragma once

#include <tl/expected.hpp>
#include <vector>

#include "shadowdev/gsi/inform.hpp"

namespace rdmove::gsi {

/// One record of the administrator: an MCMemberRecord, or an InformInfo with zeros behind it.
using RecordBytes = McMemberRecord::Bytes;
/// What makes a record this one and no other: the group's MGID, or all that a subscription asks for.
using RecordKey = std::array<std::byte, InformInfo::kBytes>;

/// What a function's request wants.
struct Wanted {
  RecordKey key{};
  JoinState state;
  bool is_join = true;
  bool is_nameless = false;  ///< the administrator is to choose the key
};

class RecordKind {
 public:
  virtual ~RecordKind() = default;
  /// Reads a function's request, or says with which status it is to be refused.
  [[nodiscard]] virtual tl::expected<Wanted, SaStatus> read(const Mad& request,
                                                            const std::vector<Gid>& own) const = 0;
  [[nodiscard]] virtual RecordKey key_of(const RecordBytes& record) const = 0;
  /// Does the port's record satisfy this join?
  [[nodiscard]] virtual SaStatus check(const RecordBytes& record, const Mad& join) const = 0;
  /// To the administrator: on behalf of a function's request.
  [[nodiscard]] virtual Mad join(const Mad& request) const = 0;
  /// To the administrator: what was held before, asked for anew.
  [[nodiscard]] virtual Mad rejoin(const RecordBytes& record, JoinState state) const = 0;
  [[nodiscard]] virtual Mad leave(const RecordBytes& record, JoinState state) const = 0;
  /// The port's record in an answer of the administrator.
  [[nodiscard]] virtual RecordBytes record_in(const Mad& answer) const = 0;
  /// To a function, as the administrator would answer it if it were alone on its port.
  [[nodiscard]] virtual Mad answer(const Mad& request, const RecordBytes& record, JoinState held) const = 0;
  /// What a function with this GID holds.
  [[nodiscard]] virtual RecordBytes held(const RecordBytes& record, JoinState state) const = 0;
  /// Can a guest that knows `before` go on with `after`?
  [[nodiscard]] virtual bool is_same(const RecordBytes& before, const RecordBytes& after) const = 0;
};

/// Multicast groups (15.2.5.17). Towards the administrator the member is the port, by its own GID.
class MulticastKind final : public RecordKind {
 public:
  explicit MulticastKind(const Gid& port) : port_(port) {}
  [[nodiscard]] tl::expected<Wanted, SaStatus> read(const Mad& request,
                                                    const std::vector<Gid>& own) const override;
  [[nodiscard]] RecordKey key_of(const RecordBytes& record) const override;
  [[nodiscard]] SaStatus check(const RecordBytes& record, const Mad& join) const override;
  [[nodiscard]] Mad join(const Mad& request) const override;
  [[nodiscard]] Mad rejoin(const RecordBytes& record, JoinState state) const override;
  [[nodiscard]] Mad leave(const RecordBytes& record, JoinState state) const override;
  [[nodiscard]] RecordBytes record_in(const Mad& answer) const override;
  [[nodiscard]] Mad answer(const Mad& request, const RecordBytes& record, JoinState held) const override;
  [[nodiscard]] RecordBytes held(const RecordBytes& record, JoinState state) const override;
  [[nodiscard]] bool is_same(const RecordBytes& before, const RecordBytes& after) const override;

  static RecordKey key(const Gid& group);

 private:
  Gid port_;
};

/// Subscriptions to events (13.4.8.3). Reports go to QP1 of the port, so only that differs between functions.
class InformKind final : public RecordKind {
 public:
  [[nodiscard]] tl::expected<Wanted, SaStatus> read(const Mad& request,
                                                    const std::vector<Gid>& own) const override;
  [[nodiscard]] RecordKey key_of(const RecordBytes& record) const override;
  [[nodiscard]] SaStatus check(const RecordBytes& record, const Mad& join) const override;
  [[nodiscard]] Mad join(const Mad& request) const override;
  [[nodiscard]] Mad rejoin(const RecordBytes& record, JoinState state) const override;
  [[nodiscard]] Mad leave(const RecordBytes& record, JoinState state) const override;
  [[nodiscard]] RecordBytes record_in(const Mad& answer) const override;
  [[nodiscard]] Mad answer(const Mad& request, const RecordBytes& record, JoinState held) const override;
  [[nodiscard]] RecordBytes held(const RecordBytes& record, JoinState state) const override;
  [[nodiscard]] bool is_same(const RecordBytes& before, const RecordBytes& after) const override;

  static RecordBytes record(const InformInfo& info);
  static InformInfo info(const RecordBytes& record);
};

}  // namespace rdmove::gsi
