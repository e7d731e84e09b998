#!/usr/bin/env bash
# Runs every fuzz target for the time given (default 5s), one after another.
set -euo pipefail
time=${1:-5s}
for pkg in $(go list ./...); do
  for target in $(go test -list '^Fuzz' "$pkg" | grep '^Fuzz' || true); do
    echo "== $pkg $target"
    go test -run='^$' -fuzz="^$target\$" -fuzztime="$time" "$pkg"
  done
done
