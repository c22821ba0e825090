#!/usr/bin/env bash
# Runs probehost in the foreground: on the given config, or beside a demo fleet on loopback.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}/debug

if [ $# -gt 0 ]; then
  exec "$target/probehost" serve --config "$1"
fi

dir=.demo
mkdir -p "$dir"
"$target/demo-fleet" --dir "$dir" &
fleet=$!
end() {
  kill "$fleet" 2>/dev/null || true
  wait "$fleet" 2>/dev/null || true
}
trap end EXIT
# The fleet writes its config once it listens.
for _ in $(seq 100); do
  [ "$dir/probehost.toml" -nt "/proc/$fleet" ] 2>/dev/null && break
  kill -0 "$fleet" 2>/dev/null || exit 1
  sleep 0.1
done
cat <<'LOOK'

  probehost watches the demo fleet. In another terminal:

    target/debug/probehost status                     what it knows
    curl -s http://127.0.0.1:9640/api/v1/targets      the same, as JSON
    curl -s http://127.0.0.1:9640/api/v1/transitions  what changed, and why
    curl -s http://127.0.0.1:9640/metrics             for Prometheus
    target/debug/probehost probe http-head url=http://127.0.0.1:9701

  Ctrl-C ends both.

LOOK
"$target/probehost" serve --config "$dir/probehost.toml" &
host=$!
trap 'kill -TERM "$host" 2>/dev/null' INT TERM
status=0
while kill -0 "$host" 2>/dev/null; do
  wait "$host" && status=0 || status=$?
done
exit "$status"
