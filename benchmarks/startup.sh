#!/usr/bin/env bash
# How long the command takes to start: wall clock of ./bellwether VERB, warm, in milliseconds.
#
#   benchmarks/startup.sh [RUNS]      default: 41 of each
set -euo pipefail
export LC_ALL=C
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
runs=${1:-41}
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export BELLWETHER_HOME=$home
unset BELLWETHER_ON

"$root/bellwether" --version # builds if need be
"$root/bellwether" ls --json >/dev/null

measure() {
  local i before after times=()
  for ((i = 0; i < runs; i++)); do
    before=$EPOCHREALTIME
    "$@" >/dev/null
    after=$EPOCHREALTIME
    times+=($(((${after/./} - ${before/./}))))
  done
  printf '%s\n' "${times[@]}" | sort -n | awk -v n="$runs" -v what="${*##*/}" '
    { t[NR] = $1 / 1000 }
    function at(q) { return t[int((n - 1) * q) + 1] }
    END { printf "%-28s %7.0f %7.0f %7.0f %7.0f %7.0f\n", what, t[1], at(0.25), at(0.5), at(0.9), t[n] }'
}

echo "$(nproc) processors, load$(uptime | sed 's/.*load average//'), $runs runs each, milliseconds"
printf '%-28s %7s %7s %7s %7s %7s\n' command min p25 median p90 max
measure "$root/bellwether" --version
measure "$root/bellwether" --help
measure "$root/bellwether" ls --json
measure "$root/bellwether" run -q e -- true
