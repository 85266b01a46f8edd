# shellcheck shell=bash
# The steps of build-image. Each has a stamp of its inputs beside its result, and does nothing if that still holds.

fresh() { [[ -f $1 && -f $1.stamp && $(<"$1.stamp") == "$2" ]]; }

die() { echo "$*" >&2; exit 1; }

# copy_program ROOT FILE [DEST]: a program and the libraries it needs, without debug information.
copy_program() {
  local root=$1 file=$2 dest=${3:-/usr/bin/$(basename "$2")} library
  mkdir -p "$root/$(dirname "$dest")"
  strip -o "$root/$dest" "$file" 2>/dev/null || cp -L "$file" "$root/$dest"
  chmod 755 "$root/$dest"
  while read -r library; do
    [[ -e $root/$library ]] && continue
    mkdir -p "$root/$(dirname "$library")"
    strip --strip-unneeded -o "$root/$library" "$library" 2>/dev/null || cp -L "$library" "$root/$library"
  done < <(ldd "$file" 2>/dev/null | grep -oE '/[^ ]+' | sort -u)
}

# pack ROOT FILE: an uncompressed cpio. Unpacking costs the guest more than loading saves.
pack() {
  (cd "$1" && find . -mindepth 1 | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0) >"$2.new"
  mv "$2.new" "$2"
}

make_kernel() {
  local out=$1 package version work offset
  # Asking apt takes two seconds; the answer holds until its lists change.
  [[ -f $out/vmlinux && $out/vmlinux.asked -nt /var/lib/apt/lists ]] && return
  package=$(apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n1)
  if [[ -z $package ]]; then
    # No package lists (or no registry): what was fetched before will do.
    [[ -f $out/vmlinux && -f $out/vmlinux.stamp ]] && return
    die "The package lists do not name a kernel: run apt-get update as root, then try again."
  fi
  version=$package$(apt-cache show "$package" | sed -n 's/^Version: /_/p' | head -n1)
  if fresh "$out/vmlinux" "$version"; then touch "$out/vmlinux.asked"; return; fi
  work=$(mktemp -d "$out/kernel.XXXX")
  chmod 755 "$work"
  (cd "$work" && apt-get -qq download "$package" 2>"$out/download.log") ||
    die "The kernel package $package cannot be downloaded: $(grep -m1 '^E:' "$out/download.log" || echo "see $out/download.log")"
  dpkg -x "$work"/*.deb "$work"
  offset=$(LC_ALL=C grep -abo -m1 $'\xfd7zXZ' "$work"/boot/vmlinuz-* | head -n1 | cut -d: -f1)
  [[ -n $offset ]] || die "No xz stream found in the kernel image of $package."
  # xz complains about what follows its stream; the ELF header is the proof.
  tail -c "+$((offset + 1))" "$work"/boot/vmlinuz-* | xz -dc --single-stream >"$out/vmlinux.new" 2>/dev/null || true
  [[ $(head -c 4 "$out/vmlinux.new") == $'\x7fELF' ]] || die "The kernel of $package did not unpack to an ELF file."
  rm -rf "$out/modules"
  mv "$work/lib/modules" "$out/modules"
  mv "$out/vmlinux.new" "$out/vmlinux"
  rm -rf "$work"
  echo "$version" >"$out/vmlinux.stamp"
  touch "$out/vmlinux.asked"
}

# The named modules and what they need, in loading order, as paths below the module tree.
module_order() {
  local tree=$1 release=$2
  shift 2
  local module
  for module in "$@"; do
    modprobe -d "$tree" -S "$release" --show-depends "$module" | sed -n 's/^insmod \([^ ]*\).*/\1/p'
  done | awk '!seen[$0]++'
}

# copy_modules ROOT MODULES LIST NAME...: from Debian's module tree, and the order to load them in as etc/modules.LIST.
copy_modules() {
  local root=$1 modules=$2 list=$3 tree release path module
  shift 3
  release=$(ls "$modules")
  tree=$(mktemp -d "${root%/*}/tree.XXXX")
  mkdir -p "$tree/lib" "$root/lib/modules" "$root/etc"
  ln -s "$modules" "$tree/lib/modules"
  depmod -b "$tree" "$release"
  while read -r path; do
    module=$(basename "$path")
    # Without its signature: checking one costs an emulated guest more than loading the module.
    strip --strip-debug -o "$root/lib/modules/$module" "$path"
    echo "$module"
  done < <(module_order "$tree" "$release" "$@") >"$root/etc/modules.$list"
  rm -rf "$tree"
}

copy_busybox() {
  local root=$1 program
  mkdir -p "$root"/{bin,sbin,usr/bin,usr/sbin,proc,sys,dev,run,tmp,var/log,root}
  cp "$(command -v busybox)" "$root/bin/busybox"
  for program in $(busybox --list); do [[ $program == busybox ]] || ln -s busybox "$root/bin/$program"; done
}

make_base() {
  local out=$1 root stamp program path
  stamp=$(cat "$out/vmlinux.stamp"; declare -p BOOT_MODULES LATE_MODULES GUEST_PROGRAMS
          dpkg-query -W busybox-static iproute2 rdmacm-utils ibverbs-utils ibverbs-providers libc6; declare -f make_base copy_modules copy_busybox copy_program)
  fresh "$out/base.cpio" "$stamp" && return
  root=$(mktemp -d "$out/base.XXXX")
  chmod 755 "$root"
  copy_modules "$root" "$out/modules" boot "${BOOT_MODULES[@]}"
  copy_modules "$root" "$out/modules" late "${LATE_MODULES[@]}"
  copy_busybox "$root"
  # busybox's shell prefers its own small ip to the real one, whatever the PATH says; dash does not.
  rm -f "$root/bin/sh"
  copy_program "$root" "$(readlink -f "$(command -v dash)")" /bin/sh
  # Opened by name when a thread is cancelled, so ldd does not know of it; rping needs it.
  path=$(find /lib /usr/lib -name libgcc_s.so.1 -path '*x86_64*' | head -n1)
  copy_program "$root" "$path" "$path"
  for program in "${GUEST_PROGRAMS[@]}"; do
    path=$(PATH=$PATH:/usr/sbin:/sbin command -v "$program") || continue
    rm -f "$root/bin/$program"
    copy_program "$root" "$(readlink -f "$path")" "/usr/bin/$program"
  done
  mkdir -p "$root/etc/libibverbs.d"
  cp /etc/libibverbs.d/rxe.driver "$root/etc/libibverbs.d/"
  path=$(find /usr/lib -name 'librxe-rdmav*.so' | head -n1)
  copy_program "$root" "$path" "$path"

  pack "$root" "$out/base.cpio"
  rm -rf "$root"
  echo "$stamp" >"$out/base.cpio.stamp"
}

# Our own modules, built against the headers of the guest's kernel.
make_modules() {
  local out=$1 here=$2 release stamp work module
  release=$(ls "$out/modules")
  stamp=$({ echo "$release"; declare -f make_modules; cat "$here"/modules/*/*; } | sha256sum)
  [[ -d $out/our-modules && $(cat "$out/our-modules.stamp" 2>/dev/null) == "$stamp" ]] && return
  # shellcheck source=migration-tests/labkit/packages.sh
  source "$here/../labkit/packages.sh"
  ensure_packages make gcc "linux-headers-$release" || exit 1
  rm -rf "$out/our-modules"
  mkdir "$out/our-modules"
  for module in "$here"/modules/*/; do
    work=$(mktemp -d "$out/module.XXXX")
    cp "$module"/* "$work"
    make -s -C "/usr/src/linux-headers-$release" "M=$work" modules >"$out/module.log" 2>&1 ||
      die "The guest module $(basename "$module") does not compile (log: $out/module.log)."
    strip --strip-debug -o "$out/our-modules/$(basename "$module").ko" "$work"/*.ko
    rm -rf "$work"
  done
  echo "$stamp" >"$out/our-modules.stamp"
}

make_ours() {
  local out=$1 here=$2 build=$3 root stamp program
  stamp=$({ cat "$out/base.cpio.stamp" "$out/our-modules.stamp"; declare -f make_ours copy_program
            (cd "$here" && find init rootfs -type f -exec sha256sum {} +)
            (cd "$build" && sha256sum "${OUR_PROGRAMS[@]}" "${OUR_LIBRARIES[@]}" "${SHADOW_LIBRARIES[@]}" 2>/dev/null || true); } | sha256sum)
  fresh "$out/initramfs.cpio" "$stamp" && return
  root=$(mktemp -d "$out/ours.XXXX")
  chmod 755 "$root"
  cp "$here/init" "$root/init"
  cp -r "$here/rootfs/." "$root/"
  mkdir -p "$root/lib/modules"
  cp "$out"/our-modules/*.ko "$root/lib/modules/"
  for program in "${OUR_PROGRAMS[@]}"; do
    [[ -x $build/$program ]] && copy_program "$root" "$build/$program"
  done
  for program in ${OUR_LIBRARIES[@]+"${OUR_LIBRARIES[@]}"}; do
    [[ -e $build/$program ]] && copy_program "$root" "$build/$program" "/usr/lib/rdmove/$(basename "$program")"
  done
  for program in "${SHADOW_LIBRARIES[@]}"; do
    [[ -e $build/$program ]] && copy_program "$root" "$build/$program" "/usr/lib/rdmove/shadow/$(basename "$program")"
  done
  pack "$root" "$out/ours.cpio"
  rm -rf "$root"
  cat "$out/base.cpio" "$out/ours.cpio" >"$out/initramfs.new"
  mv "$out/initramfs.new" "$out/initramfs.cpio"
  echo "$stamp" >"$out/initramfs.cpio.stamp"
}
