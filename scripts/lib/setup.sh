# setup.sh - Sets up a bare Debian 12 machine up to a build; sourced by the scripts of the folder above.
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Every function takes well under a second if its work is already done.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
VENV=$ROOT/.venv
PYTHON=$VENV/bin/python
PACKAGE_LIST=$ROOT/scripts/debian-packages.txt
REQUIREMENTS=$ROOT/python-bindings/requirements-dev.txt

# Clones in different folders, shells in different languages, and builds that pip starts share one ccache.
export CCACHE_BASEDIR=$ROOT CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=locale

say() { printf '==> %s\n' "$*"; }

die() {
  printf '%s: error: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# Finds a way to run a command as root: directly, or through sudo, which can ask for a password on a terminal only.
need_root() {
  if [ "$(id -u)" = 0 ]; then
    AS_ROOT=()
  elif ! command -v sudo >/dev/null; then
    die "installing Debian packages needs root: run this script as root, or install sudo"
  elif (: </dev/tty) 2>/dev/null; then
    AS_ROOT=(sudo)
  elif sudo -n true 2>/dev/null; then
    AS_ROOT=(sudo -n)
  else
    die "installing Debian packages needs root, and sudo has no terminal to ask for a password on: run this script as root"
  fi
}

# logged LOG COMMAND...: runs a command, and prints its output only if it fails.
logged() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  "$@" >"$log" 2>&1 </dev/null && return
  tail -n 40 "$log" >&2
  die "'$*' failed; the whole output is in $log"
}

missing_packages() {
  local wanted
  wanted=$(grep -v '^#' "$PACKAGE_LIST")
  # shellcheck disable=SC2086 # One word per package.
  comm -23 <(sort <<<"$wanted") \
    <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' $wanted 2>/dev/null | sed -n 's/^installed //p' | sort -u)
}

need_debian_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    die "this script sets up Debian 12, but there is no apt-get. Install the packages of scripts/debian-packages.txt" \
      "(LLVM and MLIR 22 above all) by other means, then follow CONTRIBUTING.md"
  fi
  local missing
  missing=$(missing_packages)
  [ -n "$missing" ] || return 0
  # shellcheck disable=SC2086 # One word per package.
  say "Installing $(wc -w <<<"$missing") Debian packages (once):" $missing
  need_root
  # The lists are updated every time: a bare machine has none, and old lists name files that no longer exist.
  apt_get update || die "'apt-get update' failed: is the machine online?"
  # shellcheck disable=SC2086
  apt_get install --yes --no-install-recommends $missing ||
    die "apt-get could not install the packages above, which are part of Debian 12; LLVM 22 is in its security archive" \
      "(deb http://deb.debian.org/debian-security bookworm-security main, in /etc/apt/sources.list)." \
      "This machine is $(. /etc/os-release && echo "$PRETTY_NAME")"
}

# apt_get ARGUMENT...: runs apt-get without questions. Prints only the lines about the amount of work, and errors.
apt_get() {
  "${AS_ROOT[@]}" env DEBIAN_FRONTEND=noninteractive apt-get --quiet "$@" </dev/null 2>&1 |
    grep -E --line-buffered '^(Need to get|Err|E:|W:|dpkg: error)' | sed -u 's/^/    /'
  return "${PIPESTATUS[0]}"
}

# Under sudo, built files belong to the calling user, so that the next run without sudo can write to them.
become_owner() {
  [ "$(id -u)" = 0 ] && [ -n "${SUDO_UID:-}" ] && [ "$SUDO_UID" != 0 ] || return 0
  [ "$(stat -c %u "$ROOT")" = "$SUDO_UID" ] || return 0
  exec sudo -H -u "#$SUDO_UID" -- "$@"
}

need_venv() {
  local stamp=$VENV/requirements.sha256 wanted
  wanted=$(sha256sum <"$REQUIREMENTS")
  [ -x "$PYTHON" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && return
  say "Installing $(grep -c == "$REQUIREMENTS") PyPI wheels into .venv (once)"
  # Takes Debian's own Python, whatever PATH contains: the extension module is compiled against its headers.
  [ -x "$PYTHON" ] || logged "$ROOT/build/log/venv.txt" /usr/bin/python3 -m venv --clear "$VENV"
  logged "$ROOT/build/log/pip.txt" "$PYTHON" -m pip install --disable-pip-version-check --no-input \
    --only-binary :all: -r "$REQUIREMENTS"
  printf '%s\n' "$wanted" >"$stamp"
}

# Installs CUDA's libraries if there is a driver that could use them.
need_gpu_libraries() {
  local requirements=$ROOT/python-bindings/requirements-gpu.txt stamp=$VENV/requirements-gpu.sha256 wanted
  [ -e /dev/nvidiactl ] || return 0
  wanted=$(sha256sum <"$requirements")
  [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && return
  say "This machine has a GPU: installing $(grep -c == "$requirements") PyPI wheels with CUDA's libraries into .venv (once)"
  logged "$ROOT/build/log/pip-gpu.txt" "$PYTHON" -m pip install --disable-pip-version-check --no-input \
    --only-binary :all: -r "$requirements"
  printf '%s\n' "$wanted" >"$stamp"
}

# Prints the number of parallel compilations: a file that includes MLIR takes up to 1.5 GB.
build_jobs() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/MemAvailable/ {print int($2 / 1500000)}' /proc/meminfo)
  echo $((memory < 1 ? 1 : memory < cores ? memory : cores))
}

# Prints a line per 5 percent of ninja's progress, and all output of the compiler.
summarize_ninja() {
  local line percent last=-1
  while IFS= read -r line; do
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
      percent=$((100 * BASH_REMATCH[1] / BASH_REMATCH[2] / 5 * 5))
      [ "$percent" = "$last" ] || printf '    %3d%% of %d\n' "$percent" "${BASH_REMATCH[2]}"
      last=$percent
    elif [[ ! $line =~ ^ninja:\ (no\ work|Entering) ]]; then
      printf '%s\n' "$line"
    fi
  done
}

# build PRESET [TARGET...]: configures if necessary, and builds. Returns non-zero if the build fails.
build() {
  local preset=$1 folder=$ROOT/build/$1 jobs
  shift
  jobs=$(build_jobs)
  if [ ! -f "$folder/build.ninja" ]; then
    say "Configuring build/$preset"
    (cd "$ROOT" && logged "$ROOT/build/log/configure-$preset.txt" \
      cmake --preset "$preset" --no-warn-unused-cli -DPython_EXECUTABLE="$PYTHON" -DPython3_EXECUTABLE="$PYTHON") ||
      return
  fi
  say "Building build/$preset ($jobs at a time)"
  if [ -t 1 ]; then
    ninja -C "$folder" -j "$jobs" "$@" </dev/null
  else
    (set -o pipefail && ninja -C "$folder" -j "$jobs" "$@" </dev/null 2>&1 | summarize_ninja)
  fi
}
