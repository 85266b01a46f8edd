#include "coordinator/migration/vf_records.hpp"

#include "coordinator/fabric/identity/settings.hpp"

namespace rdmove {

Result<IdentityRecords> identityRecords(Journal& journal) {
  const auto rows = journal.vfRecords();
  if (!rows) return tl::unexpected(rows.error());
  IdentityRecords records;
  for (const VfRecord& row : *rows) records[row.vf] = {row.before, row.given};
  return records;
}

std::optional<IdentityRecord> recordOf(const IdentityRecords& records, const VfName& vf) {
  const auto found = records.find(vf);
  return found == records.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Guid> portsWithIdentity(Journal& journal) {
  std::vector<Guid> ports;
  for (const VfRecord& row : journal.vfRecords().value_or(std::vector<VfRecord>())) {
    const auto given = fabric::settingsFromJson(row.given);
    if (given && given->port_guid && given->port_guid->value() != 0) ports.push_back(*given->port_guid);
  }
  return ports;
}

Result<void> keepRecord(Journal& journal, const MigrationId& migration, const VfName& vf,
                        const IdentityRecord& record) {
  return record.empty() ? Result<void>() : journal.keepVf(migration, {vf, record.before, record.given});
}

}  // namespace rdmove
