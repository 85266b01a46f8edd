# shellcheck shell=bash disable=SC2016,SC2034,SC2153,SC2154
# What must be true of the packages. A check says why it fails on standard error.

# check SENTENCE FUNCTION: runs it, and counts. Beside this shell, since bash ignores -e below an `if`.
check() {
  local log=$BUILD/packages/check.log
  ( set -e; "$2" ) >"$log" 2>&1 &
  if wait $!; then
    passed=$((passed + 1)); echo "passed: $1"
  else
    failed=$((failed + 1)); echo "failed: $1"; tail -n 8 "$log" | sed 's/^/    /'
  fi
}

fail() { echo "$*" >&2; return 1; }

install_packages() {
  mkdir -p "$root/packages"
  cp "$BUILD"/packages/*.deb "$root/packages/"
  in_root sh -c 'apt-get -qq update && apt-get -qq -y install --no-install-recommends /packages/*.deb'
  local package
  for package in rdmove rdmove-agent librdmove1 librdmove-dev; do
    [[ $(in_root dpkg-query -W -f '${db:Status-Status}' "$package") == installed ]] || fail "$package is not installed"
  done
}

CHECKS=(
  the_programs_start the_hook_is_where_libvirt_looks the_group_is_there the_example_configuration_is_right
  man_pages_and_completion_are_there units_are_right_and_hardened libraries_are_found development_files_are_whole
  nothing_starts_without_a_configuration dpkg_finds_every_file_as_it_was_packed
)

the_programs_start() {
  in_root rdmove --version | grep -q '^rdmove '
  in_root rdmoved --version | grep -q '^rdmoved '
  in_root rdmove-agent --help >/dev/null
  in_root rdmove-ping --help >/dev/null
}

the_hook_is_where_libvirt_looks() {
  local folder
  for folder in qemu.d daemon.d; do
    [[ -x $root/etc/libvirt/hooks/$folder/rdmove ]] || fail "there is no hook in $folder"
  done
  echo '<domain/>' | in_root /etc/libvirt/hooks/qemu.d/rdmove vm1 migrate begin -
}

the_group_is_there() { in_root getent group rdmove; }

the_example_configuration_is_right() {
  local example
  example=$(in_root dpkg -L rdmove | grep 'rdmoved.toml.example')
  in_root rdmoved --config "$example" --check
}

man_pages_and_completion_are_there() {
  in_root man -w 8 rdmoved; in_root man -w 1 rdmove; in_root man -w 1 rdmove-migrate; in_root man -w 8 rdmove-agent
  [[ -s $root/usr/share/bash-completion/completions/rdmove ]] || fail "no completion"
}

# The exposure below 3.0, as systemd itself counts it; its verify names what it does not understand.
units_are_right_and_hardened() {
  local unit level
  for unit in rdmoved rdmove-agent; do
    level=$(systemd-analyze security --offline=yes --root="$root" --no-pager "$unit.service" |
            sed -n 's/.*exposure level for [^:]*: \([0-9.]*\).*/\1/p')
    echo "$unit: $level"
    awk -v level="$level" 'BEGIN { exit !(level != "" && level < 3.0) }' || fail "$unit.service is at $level"
  done
  [[ -L $root/etc/systemd/system/multi-user.target.wants/rdmoved.service ]] || fail "rdmoved.service is not enabled"
}

libraries_are_found() {
  in_root ldconfig -p | grep 'librdmove\.so\.1 '
  if in_root ldd /usr/bin/rdmove /usr/sbin/rdmoved /usr/sbin/rdmove-agent /usr/bin/rdmove-ping | grep 'not found'; then
    fail "a library is missing"
  fi
}

development_files_are_whole() {
  local file
  for file in usr/lib/*/librdmove.so usr/lib/*/librdmove.a usr/lib/*/cmake/rdmove/rdmoveConfig.cmake \
              usr/lib/*/pkgconfig/rdmove.pc usr/include/rdmove; do
    in_root sh -c "ls -d /$file" || fail "there is no $file"
  done
}

nothing_starts_without_a_configuration() {
  grep -q '^ConditionPathExists=/etc/rdmove/rdmoved.toml' "$root/lib/systemd/system/rdmoved.service" ||
    grep -q '^ConditionPathExists=/etc/rdmove/rdmoved.toml' "$root/usr/lib/systemd/system/rdmoved.service"
  [[ ! -e $root/etc/rdmove/rdmoved.toml ]] || fail "the package brings a configuration"
}

dpkg_finds_every_file_as_it_was_packed() { in_root dpkg --verify rdmove rdmove-agent librdmove1 librdmove-dev; }

# The demo believes that this folder is a build.
demo_from_installed() {
  local build=$BUILD/packages/installed
  rm -rf "$build"
  mkdir -p "$build"/{coordinator,guestagent,migration-tests}
  cp "$root"/usr/sbin/rdmoved "$root"/usr/bin/rdmove "$build/coordinator/"
  cp "$root"/etc/libvirt/hooks/qemu.d/rdmove "$build/coordinator/rdmove-hook"
  cp "$root"/usr/sbin/rdmove-agent "$root"/usr/bin/rdmove-ping "$build/guestagent/"
  cp "$BUILD/migration-tests/rdma-beat" "$build/migration-tests/"
  cp -a "$BUILD/guest" "$build/guest"
  RDMOVE_LAB=packages RDMOVE_BUILD=$build RDMOVE_PREBUILT=1 "$tests/demo"
}

upgrade_keeps_what_is_ours() {
  mkdir -p "$root/etc/rdmove" "$root/var/lib/rdmove"
  echo kept >"$root/var/lib/rdmove/journal.db"
  echo '# mine' >"$root/etc/rdmove/rdmoved.toml"
  in_root sh -c 'dpkg -i /packages/rdmove_*.deb'
  grep -q kept "$root/var/lib/rdmove/journal.db"
  grep -q mine "$root/etc/rdmove/rdmoved.toml"
}

# The daemon's answer is put in its place: rdmove itself says what it says (its own tests), the package has to act on it.
removal_is_refused_while_a_migration_runs() {
  mv "$root/usr/bin/rdmove" "$root/usr/bin/rdmove.real"
  cat >"$root/usr/bin/rdmove" <<'SH'
#!/bin/sh
echo '{"migrations":[{"id":"vm2-20261130-0a1b2d","role":"departure","outcome":"Completed"},{"id":"vm1-20261130-0a1b2c","role":"departure","domain":"vm1","outcome":"Running"}]}'
SH
  chmod 0755 "$root/usr/bin/rdmove"
  local said status=0
  said=$(in_root dpkg --remove rdmove 2>&1) || status=$?
  mv "$root/usr/bin/rdmove.real" "$root/usr/bin/rdmove"
  (( status != 0 )) || fail "it was removed"
  [[ $said == *"these migrations are not over: vm1-20261130-0a1b2c"* ]] || fail "$said"
  [[ $(in_root dpkg-query -W -f '${db:Status-Status}' rdmove) == installed ]]
}

removal_leaves_journal_and_configuration() {
  in_root dpkg --remove rdmove
  [[ ! -e $root/etc/libvirt/hooks/qemu.d/rdmove && ! -e $root/usr/sbin/rdmoved ]] || fail "files are left"
  [[ -e $root/var/lib/rdmove/journal.db && -e $root/etc/rdmove/rdmoved.toml ]] || fail "the journal is gone"
}

purge_takes_the_journal() {
  in_root dpkg --purge rdmove
  [[ ! -e $root/var/lib/rdmove ]] || fail "the journal is left"
  [[ -e $root/etc/rdmove/rdmoved.toml ]] || fail "the administrator's configuration is gone"
}
