# shellcheck shell=bash
# The QEMU that emulates the hosts: it must have the SR-IOV adapter "igb", which Debian 12's own (7.2) has not. It comes
# from Debian's backports and is unpacked, never installed: the hosts run Debian 12's QEMU for their guests.

HOST_QEMU=$BUILD/nested/qemu

host_qemu() {
  "$HOST_QEMU/usr/bin/qemu-system-x86_64" -L "$HOST_QEMU/usr/share/qemu" -L "$HOST_QEMU/usr/share/seabios" "$@"
}

has_igb() { host_qemu -device igb,help >/dev/null 2>&1; }

# From the archive that this machine has its Debian 12 from; apt's own lists stay as they are.
make_host_qemu() {
  local work archive log=$BUILD/nested/qemu.log
  [[ -e $HOST_QEMU.complete ]] && has_igb && return
  say "fetching a QEMU with an SR-IOV adapter (once)"
  rm -rf "$HOST_QEMU" "$HOST_QEMU".*
  mkdir -p "$BUILD/nested"
  work=$(mktemp -d "$BUILD/nested/apt.XXXX")
  mkdir -p "$work/lists/partial"
  # shellcheck disable=SC2016
  archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' | head -n1)
  [[ -n $archive ]] || die "apt knows no archive of Debian 12 (bookworm): run apt-get update as root, then try again."
  echo "deb $archive bookworm-backports main" >"$work/sources.list"
  local options=(-qq -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
                 -o "Dir::State::Lists=$work/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=)
  (cd "$work" && apt-get "${options[@]}" update && apt-get "${options[@]}" download "${HOST_QEMU_PACKAGES[@]}") >"$log" 2>&1 ||
    die "$(why_not_installed "$log") (log: $log)"
  for archive in "$work"/*.deb; do dpkg -x "$archive" "$HOST_QEMU"; done
  rm -rf "$work"
  has_igb || die "The QEMU of Debian's backports has no igb adapter: $(host_qemu -device igb,help 2>&1 | head -n1)"
  touch "$HOST_QEMU.complete"
}
