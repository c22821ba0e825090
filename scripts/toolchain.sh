#!/usr/bin/env bash
# Says what to install when Rust or a C compiler is missing; installs nothing by itself.
set -euo pipefail
missing=0
if ! command -v cargo >/dev/null 2>&1; then
  echo "probehost needs Rust 1.95 or newer: install rustup from https://rustup.rs and run this again." >&2
  missing=1
fi
if ! command -v cc >/dev/null 2>&1; then
  echo "probehost needs a C compiler (SQLite is built from source): on Debian and Ubuntu, apt-get install gcc libc6-dev." >&2
  missing=1
fi
exit "$missing"
