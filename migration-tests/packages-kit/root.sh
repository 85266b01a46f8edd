# shellcheck shell=bash disable=SC2016,SC2154
# Making the packages, and the root in which they are tried. Its Debian comes from where this machine's does.

# Configured for /usr, where the packages' files will be; nothing is compiled anew by that.
make_packages() {
  local log=$BUILD/packages.log
  mkdir -p "$BUILD"
  cmake -S "$top" -B "$BUILD" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_PREFIX=/usr >"$log" 2>&1 ||
    { tail -n 20 "$log" >&2; stop_with "The build cannot be configured (log: $log)."; }
  set_up_build rdmove_packaged
  rm -f "$BUILD"/packages/*.deb
  (cd "$BUILD" && cpack -G DEB) >"$log" 2>&1 || { tail -n 20 "$log" >&2; stop_with "cpack failed (log: $log)."; }
}

in_root() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"; }

remove_root() {
  mountpoint -q "$root/proc" && umount "$root/proc"
  rm -rf "$root"
}

# Kept from one run to the next as an archive: Debian's part does not change.
make_root() {
  local archive=$BUILD/packages/debian.tar site
  [[ -e $root ]] && remove_root
  if [[ ! -e $archive ]]; then
    site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | head -n1)
    say "making a Debian 12 of its own (log: $BUILD/packages/debootstrap.log)"
    debootstrap --variant=minbase --include=ca-certificates,man-db bookworm "$root" "$site" \
      >"$BUILD/packages/debootstrap.log" 2>&1 || stop_with "debootstrap failed (log: $BUILD/packages/debootstrap.log)."
    tar -C "$root" -cf "$archive.new" . && mv "$archive.new" "$archive"
  else
    mkdir -p "$root"
    tar -C "$root" -xf "$archive"
  fi
  cp -a /etc/apt/. "$root/etc/apt/"
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  # As image builders have it: nothing is started in a root that does not run.
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod 0755 "$root/usr/sbin/policy-rc.d"
  mount -t proc proc "$root/proc"
}
