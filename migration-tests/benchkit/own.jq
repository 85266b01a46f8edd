# From `rdmove timeline --json`: the way from Preparing's begin to the guest's restored, in three shares.
# The guest's: Preparing, RestoringGuest. libvirt's and QEMU's: Unplugging, Transferring until the arrival's Incoming
# ends with the resume, Plugging. rdmove's own: TakingIdentity, AnnouncingRelease, and every gap between two phases.
def span($role; $phase):
  [.spans[] | select((.source | endswith($role)) and .phase == $phase and .end_us != "0")]
  | if length == 1 then .[0] | {b: (.begin_us | tonumber), e: (.end_us | tonumber)}
    else error("\($role) has \(length) spans \($phase)") end;
def ms: . / 1000;

span("departure"; "Preparing") as $prepare
| span("departure"; "Unplugging") as $unplug
| span("departure"; "TakingIdentity") as $take
| span("departure"; "AnnouncingRelease") as $announce
| span("departure"; "Transferring") as $transfer
| span("arrival"; "Incoming") as $incoming
| span("arrival"; "Plugging") as $plug
| span("arrival"; "RestoringGuest") as $restore
| { id: .migration.id,
    prepare_ms: ($prepare.e - $prepare.b | ms),
    unplug_ms: ($unplug.e - $unplug.b | ms),
    transfer_ms: ($incoming.e - $transfer.b | ms),
    plug_ms: ($plug.e - $plug.b | ms),
    restore_ms: ($restore.e - $restore.b | ms),
    path_ms: ($restore.e - $prepare.b | ms) }
| .guest_ms = .prepare_ms + .restore_ms
| .libvirt_ms = .unplug_ms + .transfer_ms + .plug_ms
| .own_ms = .path_ms - .guest_ms - .libvirt_ms
