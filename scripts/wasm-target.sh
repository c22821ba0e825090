#!/usr/bin/env bash
# Sets up the Rust target wasm32-wasip2, which every probe component is built for.
#
# Usage: scripts/wasm-target.sh        (no arguments; safe to run again at any time)
#
# Does nothing when the active toolchain has the target already. Otherwise it asks rustup, unless
# RUSTUP_AUTO_INSTALL=0 says that rustup must not download. Where that is no way, it builds the
# standard library from Debian's rust-src and wasi-libc, on a machine that has apt-get.
# The system's apt sources and installed packages stay as they are; only the sysroot is written to,
# in one move at the end, so an interrupted run never leaves half a target.
#
# Exit status: 0 when the target is there, 1 when it is not (the text says what to do).

set -euo pipefail

readonly TARGET=wasm32-wasip2
readonly SEED=wasm_target_seed             # the empty crate whose build yields the standard library
readonly SUITES=(trixie-backports trixie sid)
readonly FALLBACK_MIRROR=http://deb.debian.org/debian   # Debian's documented default mirror
readonly KEYRINGS=(/usr/share/keyrings/debian-archive-keyring.{gpg,pgp})

say() { printf 'wasm-target: %s\n' "$*"; }

work=''    # everything downloaded and built
stage=''   # the new target, next to the place it is moved to
reason=''  # why the Debian way failed, for the last message

# shellcheck disable=SC2329 # called by the trap
cleanup() {
    if [[ -n $work ]]; then rm -rf -- "$work"; fi
    if [[ -n $stage ]]; then rm -rf -- "$stage"; fi
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Is the target complete? One made by this script also names the compiler it was made for, as the
# standard library of another compiler version is of no use after an update of the toolchain.
has_target() {
    compgen -G "$rustlib/$TARGET/lib/libstd-*.rlib" >/dev/null || return 1
    [[ -d $rustlib/$TARGET/lib/self-contained ]] || return 1
    local made_for=$rustlib/$TARGET/made-for
    [[ ! -e $made_for || $(<"$made_for") == "$compiler" ]]
}

# Runs a command with its output in the log; shows the end of the log only when it fails.
logged() {
    if "$@" >"$work/log" 2>&1; then return 0; fi
    tail -n 20 -- "$work/log" >&2
    return 1
}

# apt with lists and caches of its own.
private_apt() {
    local tool=$1
    shift
    "$tool" -q \
        -o Dir::Etc::SourceList="$work/apt/sources.list" -o Dir::Etc::SourceParts=- \
        -o Dir::State::Lists="$work/apt/lists" -o Dir::Cache="$work/apt/cache" \
        -o Acquire::Languages=none -o Debug::NoLocking=1 "$@"
}

# Prints the archives the machine's own apt sources name for its release, then the fallback.
# A third-party archive among them does no harm: Debian's keyring does not vouch for it.
mirrors() {
    local codename
    # shellcheck source=/dev/null
    codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
    {
        if [[ -n $codename ]]; then
            apt-get -o Dir::State::Lists="$work/apt/none" -o Debug::NoLocking=1 --print-uris update \
                2>/dev/null | sed -n "s|^'\(.*\)/dists/$codename/InRelease' .*|\1|p" || true
        fi
        printf '%s\n' "$FALLBACK_MIRROR"
    } | awk '!seen[$0]++'
}

# Prints the newest version of package $1 on the current mirror that begins with version $2
# (any version when $2 is empty). apt-cache lists the newest first.
version_of() {
    private_apt apt-cache madison "$1" 2>/dev/null | awk -F ' *[|] *' -v want="$2" '
        index($2, want) == 1 && (want == "" || substr($2, length(want) + 1) !~ /^[0-9.]/) && !found {
            print $2; found = 1
        }'
}

# Downloads and unpacks rust-src and wasi-libc into $work/root.
fetch_sources() {
    local keyring='' k mirror suite src='' libc=''
    for k in "${KEYRINGS[@]}"; do
        if [[ -r $k ]]; then keyring=$k; break; fi
    done
    if [[ -z $keyring ]]; then
        reason="Debian's keyring (${KEYRINGS[0]}) is not on this machine; install debian-archive-keyring"
        return 1
    fi
    mkdir -p "$work"/apt/{lists,none}/partial "$work"/apt/cache "$work"/debs "$work"/root || return 1

    while read -r mirror; do
        say "looking for rust-src $release on $mirror"
        for suite in "${SUITES[@]}"; do
            printf 'deb [signed-by=%s target=Packages] %s %s main\n' "$keyring" "$mirror" "$suite"
        done >"$work/apt/sources.list"
        # A suite that a mirror lacks makes apt fail although the others were read.
        private_apt apt-get update >"$work/log" 2>&1 </dev/null || true
        src=$(version_of rust-src "$release") || true
        libc=$(version_of wasi-libc '') || true
        if [[ -n $src && -n $libc ]]; then break; fi
    done < <(mirrors)

    if [[ -z $src || -z $libc ]]; then
        tail -n 20 -- "$work/log" >&2
        reason="no Debian archive that could be reached has rust-src $release and wasi-libc (looked in ${SUITES[*]})"
        return 1
    fi
    say "downloading rust-src $src and wasi-libc $libc"
    # apt drops root for the download, so its own user must be able to write here.
    if [[ $EUID -eq 0 ]] && id _apt >/dev/null 2>&1; then chown _apt "$work/debs"; fi
    if ! (cd "$work/debs" && logged private_apt apt-get download "rust-src=$src" "wasi-libc=$libc"); then
        reason="apt-get could not download rust-src $src and wasi-libc $libc"
        return 1
    fi
    local deb
    for deb in "$work"/debs/*.deb; do
        if ! logged dpkg -x "$deb" "$work/root"; then
            reason="dpkg could not unpack ${deb##*/}"
            return 1
        fi
    done
    if [[ ! -d $work/root/usr/src/rustc-$release/library ]]; then
        reason="rust-src $src has no folder usr/src/rustc-$release/library"
        return 1
    fi
    if [[ ! -f $work/root/usr/lib/$TARGET/libc.a ]]; then
        reason="wasi-libc $libc has no usr/lib/$TARGET/libc.a"
        return 1
    fi
}

# Builds the standard library; the rlibs end up in $work/seed/target.
build_std() {
    say "building the standard library (about half a minute)"
    mkdir -p "$work/seed/src" && : >"$work/seed/src/lib.rs" || return 1
    printf '[package]\nname = "%s"\nversion = "0.0.0"\nedition = "2021"\n\n[workspace]\n' "$SEED" \
        >"$work/seed/Cargo.toml" || return 1

    # The toolchain's own cargo, as rustup's would choose anew in another folder.
    local cargo=cargo rustc=rustc
    if [[ -x $sysroot/bin/cargo ]]; then cargo=$sysroot/bin/cargo; fi
    if [[ -x $sysroot/bin/rustc ]]; then rustc=$sysroot/bin/rustc; fi
    # -Zbuild-std wants a nightly or RUSTC_BOOTSTRAP. Bitcode lets components use link-time optimisation.
    local settings=(
        -u CARGO_ENCODED_RUSTFLAGS -u CARGO_BUILD_TARGET -u RUSTC_WRAPPER -u RUSTC_WORKSPACE_WRAPPER
        RUSTC="$rustc" RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Cembed-bitcode=yes
        CARGO_TARGET_DIR="$work/seed/target"
        __CARGO_TESTS_ONLY_SRC_ROOT="$work/root/usr/src/rustc-$release/library"
    )
    if ! (cd "$work/seed" && logged env "${settings[@]}" "$cargo" build -Zbuild-std=std,panic_abort \
        --release --target "$TARGET"); then
        reason="cargo could not build the standard library for $TARGET (its last lines are above)"
        return 1
    fi
}

# Puts the target together beside its place, then moves it there.
install_target() {
    reason="the new target could not be written to $rustlib"
    stage=$(mktemp -d "$rustlib/.$TARGET.XXXXXX") || return 1
    local new=$stage/new rlib
    mkdir -p "$new/lib/self-contained" || return 1
    for rlib in "$work/seed/target/$TARGET"/release/deps/*.rlib; do
        if [[ ${rlib##*/} == "lib$SEED"-* ]]; then continue; fi
        cp -- "$rlib" "$new/lib/" || return 1
    done
    cp -R -- "$work/root/usr/lib/$TARGET/." "$new/lib/self-contained/" || return 1
    printf '%s\n' "$compiler" >"$new/made-for" || return 1
    chmod -R u=rwX,go=rX "$new" || return 1

    # Another run may have finished first; what it made is as good.
    if has_target; then return 0; fi
    if [[ -e $rustlib/$TARGET ]]; then
        mv -T -- "$rustlib/$TARGET" "$stage/old" || return 1
    fi
    mv -T -- "$new" "$rustlib/$TARGET" || has_target || return 1
}

make_from_debian() {
    local tool
    for tool in apt-get apt-cache dpkg; do
        if ! command -v "$tool" >/dev/null; then
            reason="there is no $tool here, so Debian's packages cannot be used"
            return 1
        fi
    done
    if [[ ! -w $rustlib ]]; then
        reason="$rustlib cannot be written to by $(id -un)"
        return 1
    fi
    work=$(mktemp -d) || return 1
    chmod 755 "$work" || return 1 # apt's own user must be able to enter
    fetch_sources && build_std && install_target
}

# rust-toolchain.toml in the project's folder decides which toolchain is meant.
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
if ! command -v rustc >/dev/null; then
    say "there is no rustc on the PATH. Install Rust first (with rustup), then run this script again." >&2
    exit 1
fi
sysroot=$(rustc --print sysroot)
compiler=$(rustc --version)
release=$(rustc -vV | sed -n 's/^release: //p')
rustlib=$sysroot/lib/rustlib
readonly sysroot compiler release rustlib

if has_target; then
    say "$TARGET is there for $compiler"
    exit 0
fi
if command -v rustup >/dev/null && [[ ${RUSTUP_AUTO_INSTALL:-1} != 0 ]]; then
    say "asking rustup for $TARGET"
    if rustup target add "$TARGET" && has_target; then
        say "$TARGET is there for $compiler"
        exit 0
    fi
    say "rustup could not add $TARGET, trying Debian's packages"
fi
if make_from_debian && has_target; then
    say "$TARGET is there for $compiler, made from Debian's packages"
    exit 0
fi
cat >&2 <<TEXT
wasm-target: the Rust target $TARGET could not be set up for $compiler.
Why: ${reason:-the target is still incomplete in $rustlib/$TARGET}.
What to do, one of:
  - With rustup and access to its downloads:  rustup target add $TARGET
    (RUSTUP_AUTO_INSTALL=0 in the environment keeps this script from trying that.)
  - On Debian, with access to a mirror and write permission for $rustlib:
    run this script again. It needs rust-src in exactly version $release.
TEXT
exit 1
