# shellcheck shell=bash
# What demo, check and bench do first: packages, build, guest image. A second run does only what changed.

top=$(cd "$tests/.." && pwd)

stop_with() { echo "$(basename "$0"): $*" >&2; exit 1; }

need_root() { (( EUID == 0 )) || stop_with "Run this as root: it makes network namespaces and installs packages."; }

need_disk() {
  local free
  free=$(df -Pm "$top" | awk 'NR==2 {print $4}')
  (( free >= 3000 )) || stop_with "There are $free MB free under $top; 3000 MB are needed for the build and the guest image."
}

set_up_packages() {
  ensure_packages "${BUILD_PACKAGES[@]}" "${LAB_PACKAGES[@]}" || exit 1
}

# set_up_build TARGET...: configures once, builds what changed. Output only when it fails, or on a terminal.
set_up_build() {
  local log=$BUILD/build.log
  [[ -z ${RDMOVE_PREBUILT:-} ]] || return 0   # $BUILD has what was installed from packages (packages-kit)
  mkdir -p "$BUILD"
  if [[ ! -e $BUILD/build.ninja ]]; then
    cmake -S "$top" -B "$BUILD" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo >"$log" 2>&1 ||
      { tail -n 20 "$log" >&2; stop_with "The build cannot be configured (log: $log)."; }
  fi
  echo "Building (log: $log)" >&2
  ninja -C "$BUILD" "$@" >"$log" 2>&1 || { grep -E 'error|FAILED' "$log" | head -n 20 >&2; stop_with "The build failed (log: $log)."; }
}

# set_up_sanitized PRESET: the unit tests of the guest's side, built with what the preset names; in build/PRESET. Those of
# the host's side run without: its libraries (gRPC, Boost, libvirt) take most of the time, and were not built so themselves.
set_up_sanitized() {
  local build=$top/build/$1
  local log=$build/build.log
  mkdir -p "$build"
  if [[ ! -e $build/build.ninja || $top/CMakePresets.json -nt $build/build.ninja ]]; then
    cmake -S "$top" -B "$build" --preset "$1" -DRDMOVE_BUILD_COORDINATOR=OFF >"$log" 2>&1 ||
      { tail -n 20 "$log" >&2; stop_with "The build $1 cannot be configured (log: $log)."; }
  fi
  echo "Building the guest's unit tests, $1 (log: $log)" >&2
  ninja -C "$build" rdmove_tests >"$log" 2>&1 ||
    { grep -E 'error|FAILED' "$log" | head -n 20 >&2; stop_with "The build $1 failed (log: $log)."; }
}

set_up_image() { "$tests/guest/build-image" >&2 || stop_with "The guest image cannot be made."; }
