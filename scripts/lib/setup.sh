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

# Clones in different folders, shells in different languages, and builds that pip starts share one ccache.
export CCACHE_BASEDIR=$ROOT CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=locale
# A compiler with another name does not share it: pip would use the one that compiled Python.
export CC=${CC:-gcc} CXX=${CXX:-g++}

say() { printf '==> %s\n' "$*"; }

die() {
  printf '%s: error: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# begin_step NAME: ends the step before, and begins one that print_steps has in its table.
STEPS=()
STEP=
begin_step() {
  end_step
  STEP=$1
  STEP_BEGIN=$SECONDS
}

end_step() {
  [ -z "$STEP" ] || STEPS+=("$((SECONDS - STEP_BEGIN)) $STEP")
  STEP=
}

# Prints the time of each step, as minutes and seconds, and that of all.
print_steps() {
  local step
  end_step
  printf '\n%-20s%8s\n' step time
  for step in "${STEPS[@]}" "$SECONDS total"; do
    printf '%-20s%5d:%02d\n' "${step#* }" $((${step%% *} / 60)) $((${step%% *} % 60))
  done
}

# Finds out how to run a command as root: directly, or through sudo, which may ask for a password on a terminal only.
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

# install_wheels STAMP REQUIREMENTS WHAT: installs what a file of requirements names into the virtual environment, once.
install_wheels() {
  local stamp=$VENV/$1.sha256 requirements=$2 what=$3 wanted
  wanted=$(sha256sum <"$requirements")
  [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && return
  say "Installing $(grep -c == "$requirements") PyPI wheels $what into .venv (once)"
  logged "$ROOT/build/log/pip-$1.txt" "$PYTHON" -m pip install --disable-pip-version-check --no-input \
    --only-binary :all: -r "$requirements"
  printf '%s\n' "$wanted" >"$stamp"
}

need_venv() {
  # Debian's own Python, whatever PATH says: its headers are what the extension module is compiled against.
  [ -x "$PYTHON" ] || logged "$ROOT/build/log/venv.txt" /usr/bin/python3 -m venv --clear "$VENV"
  install_wheels requirements "$ROOT/python-bindings/requirements-dev.txt" "for building and testing"
}

# Installs CUDA's libraries if there is a driver that could use them.
need_gpu_libraries() {
  [ -e /dev/nvidiactl ] || return 0
  install_wheels requirements-gpu "$ROOT/python-bindings/requirements-gpu.txt" "with CUDA's libraries, for this machine's GPU,"
}

need_site_packages() {
  install_wheels requirements-site "$ROOT/docs/requirements.txt" "for the site"
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
