#!/usr/bin/env bash
# Runs probehost in the foreground: on the given config, or beside a demo fleet on loopback.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}/debug

if [ $# -gt 0 ]; then
  exec "$target/probehost" serve --config "$1"
fi

cat <<LOOK

  probehost will watch the demo fleet. Look at it in a browser:

    http://127.0.0.1:9640/

  or in another terminal:

    $target/probehost status                        what it knows
    curl -s http://127.0.0.1:9640/api/v1/targets      the same, as JSON
    curl -s http://127.0.0.1:9640/api/v1/transitions  what changed, and why
    curl -s http://127.0.0.1:9640/metrics             for Prometheus
    curl -N http://127.0.0.1:9640/api/v1/events       what happens, as it does
    curl -s http://127.0.0.1:9640/api/v1/health/instances/mcp
                                                      the managed MCP server: kill it (how, is below)
                                                      and watch it heal
    $target/probehost probe http-head url=http://127.0.0.1:9701

  Ctrl-C ends both.

LOOK
exec "$target/demo-fleet" --dir .demo -- "$target/probehost" serve --config .demo/probehost.toml
