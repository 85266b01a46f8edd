# shellcheck shell=bash
# The emulated hosts' initramfs: a shell, the modules, and host-root, which mounts the rest. The kernel is the guests'.

HOST_IMAGE=$BUILD/nested/host.cpio

make_host_image() {
  local root stamp
  stamp=$(cat "$BUILD/guest/vmlinux.stamp" "$nested/host-root"; declare -p ROOT_MODULES HOST_MODULES
          dpkg-query -W busybox-static; declare -f make_host_image copy_modules copy_busybox)
  fresh "$HOST_IMAGE" "$stamp" && return
  mkdir -p "$BUILD/nested"
  root=$(mktemp -d "$BUILD/nested/root.XXXX")
  chmod 755 "$root"
  copy_modules "$root" "$BUILD/guest/modules" root "${ROOT_MODULES[@]}"
  copy_modules "$root" "$BUILD/guest/modules" host "${HOST_MODULES[@]}"
  copy_busybox "$root"
  cp "$nested/host-root" "$root/init"
  chmod 755 "$root/init"
  pack "$root" "$HOST_IMAGE"
  rm -rf "$root"
  echo "$stamp" >"$HOST_IMAGE.stamp"
}
