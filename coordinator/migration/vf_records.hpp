// The journal's records of VFs as the fabric takes them. Loop thread only, as the journal is.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "coordinator/fabric/fabric.hpp"
#include "coordinator/journal/journal.hpp"

namespace rdmove {

using IdentityRecords = std::map<VfName, IdentityRecord>;

Result<IdentityRecords> identityRecords(Journal& journal);
std::optional<IdentityRecord> recordOf(const IdentityRecords& records, const VfName& vf);
/// The port GUIDs that rdmove has put on VFs of this host; a record that cannot be read has none.
std::vector<Guid> portsWithIdentity(Journal& journal);
/// Durable when it returns; a record of nothing is not written.
Result<void> keepRecord(Journal& journal, const MigrationId& migration, const VfName& vf,
                        const IdentityRecord& record);

}  // namespace rdmove
