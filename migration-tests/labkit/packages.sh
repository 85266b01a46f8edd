# shellcheck shell=bash
# The packages of Debian 12 that the project needs, and the function that installs what is missing of them.
# Used by lab, demo and check, so that each of them starts on a bare machine.

BUILD_PACKAGES=(
  g++ cmake ninja-build pkg-config ccache mold help2man
  libvirt-dev librdmacm-dev libibverbs-dev libboost-dev
  libsqlite3-dev libsqlitecpp-dev libgrpc++-dev protobuf-compiler protobuf-compiler-grpc libprotobuf-dev
  nlohmann-json3-dev libtomlplusplus-dev libpugixml-dev libcli11-dev libspdlog-dev libfmt-dev
  libnl-3-dev libnl-route-3-dev libsystemd-dev libexpected-dev
  prometheus-cpp-dev libgtest-dev libgmock-dev librapidcheck-dev python3
  libibumad-dev libibmad-dev opensm ibsim-utils libumad2sim0 infiniband-diags
)

LAB_PACKAGES=(
  libvirt-daemon libvirt-daemon-driver-qemu libvirt-clients qemu-system-x86
  busybox-static kmod cpio xz-utils binutils iproute2
  rdma-core ibverbs-utils rdmacm-utils ibverbs-providers
  openssl iputils-arping jq dnsmasq-base
)

# Unpacked below the build folder by `nested`, and nowhere installed (nested-kit/qemu.sh).
HOST_QEMU_PACKAGES=(qemu-system-x86 qemu-system-common qemu-system-data seabios)

# ensure_packages NAME...: installs those that are missing. One clear sentence and status 1 where it cannot.
ensure_packages() {
  local missing=() package log
  for package in "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true) == installed ]] || missing+=("$package")
  done
  (( ${#missing[@]} )) || return 0

  if (( EUID != 0 )); then
    echo "These packages are missing and only root can install them: ${missing[*]}" >&2
    return 1
  fi
  echo "Installing ${#missing[@]} packages: ${missing[*]}" >&2
  # Debian starts a package's service. A subnet manager must not appear on a fabric that this machine may have.
  if [[ " ${missing[*]} " == *" opensm "* && ! -e /etc/systemd/system/opensm.service ]]; then
    mkdir -p /etc/systemd/system
    ln -s /dev/null /etc/systemd/system/opensm.service
  fi
  log=$(mktemp)
  # The lists of a fresh machine are empty or old; they are fetched once per run of a script, not per package. A fresh
  # machine may be updating itself just now: its lock is waited for.
  if { [[ -n ${PACKAGE_LISTS_FRESH:-} ]] || apt-get -qq update >"$log" 2>&1; } &&
     DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 install --no-install-recommends \
       "${missing[@]}" >>"$log" 2>&1; then
    PACKAGE_LISTS_FRESH=1
    rm -f "$log"
    return 0
  fi
  echo "$(why_not_installed "$log") (log: $log)" >&2
  return 1
}

# why_not_installed LOG: one sentence from what apt-get wrote. A full disk comes first: it also makes downloads fail.
why_not_installed() {
  if grep -qiE 'no space left|enough free space' "$1"; then
    echo "The packages do not fit on the disk: free some of it and try again."
  elif grep -qiE 'could not resolve|failed to fetch|connection (failed|refused|timed out)|temporary failure' "$1"; then
    echo "The package registry does not answer: check the network and /etc/apt, then try again."
  else
    echo "apt-get could not install the packages: $(grep -m1 '^E:' "$1" || tail -n1 "$1")"
  fi
}
