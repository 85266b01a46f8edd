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
  mkdir -p "$BUILD"
  if [[ ! -e $BUILD/build.ninja ]]; then
    cmake -S "$top" -B "$BUILD" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo >"$log" 2>&1 ||
      { tail -n 20 "$log" >&2; stop_with "The build cannot be configured (log: $log)."; }
  fi
  echo "Building (log: $log)" >&2
  ninja -C "$BUILD" "$@" >"$log" 2>&1 || { grep -E 'error|FAILED' "$log" | head -n 20 >&2; stop_with "The build failed (log: $log)."; }
}

set_up_image() { "$tests/guest/build-image" >&2 || stop_with "The guest image cannot be made."; }
