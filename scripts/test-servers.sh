#!/usr/bin/env bash
# Installs the real servers that the tests use, where this may be done; says how otherwise.
# Without a server its tests are skipped by name, except in CI, where nothing is skipped.
set -euo pipefail
declare -A packages=([nginx]=nginx-light [postgres]=postgresql [sshd]=openssh-server
  [ssh-agent]=openssh-client [dropbear]=dropbear-bin)
wanted=()
for program in "${!packages[@]}"; do
  command -v "$program" >/dev/null 2>&1 || [ -x "/usr/sbin/$program" ] ||
    compgen -G "/usr/lib/postgresql/*/bin/$program" >/dev/null || wanted+=("${packages[$program]}")
done
[ ${#wanted[@]} -eq 0 ] && exit 0
install=(apt-get install -y --no-install-recommends "${wanted[@]}")
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
  # A service that the package would start is not wanted: the tests start their own.
  policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq && "${install[@]}" -qq >/dev/null || echo "could not install ${wanted[*]}" >&2
else
  echo "Some tests will be skipped: to run them, install ${wanted[*]} (as root: ${install[*]})." >&2
fi
