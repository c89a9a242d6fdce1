#!/usr/bin/env bash
# Takes the screenshots of "runtimegate status -o html": docs/status-light.png,
# docs/status-dark.png. Needs Chromium, which CHROMIUM may name; the cluster is the
# snapshot in testdata/status.
set -euo pipefail
cd "$(dirname "$0")/.."
chromium=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
if [ -z "$chromium" ]; then
  echo "no Chromium: install it (apt-get install chromium), or name it with CHROMIUM" >&2
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go run . status --snapshot testdata/status/cluster.json --now 2026-01-02T00:05:00Z -o html > "$work/status.html"
shot() { # name width height flags...
  local name=$1 size=$2,$3
  shift 3
  HOME=$work "$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=1 \
    --user-data-dir="$work/profile" --window-size="$size" --screenshot="$work/$name.png" "$@" "file://$work/status.html" 2> "$work/log" ||
    { cat "$work/log" >&2; exit 1; }
  mv "$work/$name.png" "docs/$name.png"
}
shot status-light 1280 1500
shot status-dark 1280 1500 --blink-settings=preferredColorScheme=0
