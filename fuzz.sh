#!/usr/bin/env bash
# Runs every fuzz target for the time given (default 5s), one a core at a time.
# Each package's test binary is built once.
set -euo pipefail
time=${1:-5s}
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
list=$bin/targets
for pkg in $(go list ./...); do
  dir=$(go list -f '{{.Dir}}' "$pkg")
  grep -qs '^func Fuzz' "$dir"/*_test.go || continue
  for target in $(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go | cut -d' ' -f2); do
    printf '%s %s\n' "$pkg" "$target" >>"$list"
  done
done
# The go command now and then ends a target whose time is over as failed, without an
# input that fails: such a run is repeated, twice at most.
one() {
  for attempt in 1 2 3; do
    out=$(go test -run='^$' -fuzz="^$2\$" -fuzztime="$3" -parallel=1 "$1" 2>&1) && break
    if [ "$attempt" = 3 ] || grep -q 'Failing input' <<<"$out" || ! grep -q 'context deadline exceeded' <<<"$out"; then
      printf '== %s %s\n%s\n' "$1" "$2" "$out"
      return 1
    fi
  done
  printf 'ok  %s %s %s\n' "$1" "$2" "$(grep -oE 'execs: [0-9]+' <<<"$out" | tail -1)"
}
export -f one
xargs -P "$(nproc)" -L 1 bash -c 'one "$0" "$1" "$2"' < <(sed "s/\$/ $time/" "$list")
