#!/bin/bash
# The device crate's and the ops crate's own tests, built for Windows (x86_64-pc-windows-gnu) and run under Wine; the plug-in
# library is built, too, and its exports are checked. For Debian 12, from its packages alone: Rust 1.85 with the sources of its
# libraries (it has none built for Windows), MinGW, Wine, and Mesa's software Vulkan behind Wine's. Run as root the first time.
# What does not run: tests that are marked `ignore` for Windows, each with its reason; TensorFlow, for want of a Windows Python.
# Arguments, if any, go to the test programs (a test's name, say). TFVK_WINDOWS_TOOLS is where the toolchain is kept.
set -euo pipefail
# Cargo's runner is this script, too. A program that takes long to end Wine kills, and its exit status is lost to all but a
# parent that is a Windows program.
if [ "${1:-}" = --runner ]; then
    program=Z:${2//\//\\}
    shift 2
    exec wine cmd /c "$program" "$@"
fi
cd "$(dirname "$0")/.."
triple=x86_64-pc-windows-gnu
rust=1.85
tools=${TFVK_WINDOWS_TOOLS:-$PWD/target/windows-tools}
mkdir -p "$tools"

say() { printf 'test-windows: %s\n' "$*"; }
die() { printf 'test-windows: %s\n' "$*" >&2; exit 1; }

# Installs what is missing. The compiler is the one that the project promises to build with; `version` is Debian's name for it.
packages() {
    local missing=() package
    installed() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }
    for package in xz-utils gcc g++ gcc-mingw-w64-x86-64 wine wine64 xvfb xauth mesa-vulkan-drivers libvulkan1; do
        installed $package || missing+=("$package")
    done
    version=
    if installed rustc-web && installed cargo-web && installed libstd-rust-web-dev; then
        version=$(dpkg-query -W -f '${Version}' rustc-web)
    fi
    [ ${#missing[@]} != 0 ] || [[ $version != $rust.* ]] || return 0
    [ "$(id -u)" = 0 ] || die "please run as root once, to install ${missing[*]} Rust $rust (rustc-web)"
    apt-get -qq update >>"$tools/log" 2>&1 || { tail -n 5 "$tools/log" >&2; die "apt-get update failed"; }
    if [[ $version != $rust.* ]]; then
        version=$(apt-cache madison rustc-web | awk -v rust="$rust." 'index($3, rust) == 1 && !found { found = $3 } END { print found }')
        [ -n "$version" ] || die "Debian offers no Rust $rust any more"
        missing+=("rustc-web=$version" "cargo-web=$version" "libstd-rust-web-dev=$version")
    fi
    say "installing ${missing[*]}"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends --allow-downgrades "${missing[@]}" \
        >>"$tools/log" 2>&1 || { tail -n 5 "$tools/log" >&2; die "apt-get install failed"; }
}

# The sources of Rust's libraries, where cargo looks for them; from a list of sources of our own, the system's stays as it is.
library_sources() {
    local to=/usr/lib/rustlib/src/rust
    [ -e $to/library/Cargo.lock ] && return
    [ "$(id -u)" = 0 ] || die "please run as root once: the sources of Rust's libraries go to $to"
    say "fetching the sources of Rust's libraries"
    mkdir -p "$tools/sources.d" "$tools/lists/partial"
    # The system's mirrors, in whichever of the two ways they are written down.
    sed 's/^Types:.*/Types: deb-src/' /etc/apt/sources.list.d/debian.sources >"$tools/sources.d/src.sources" 2>/dev/null ||
        sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >"$tools/sources.d/src.list"
    local apt=(apt-get -qq -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$tools/sources.d"
        -o "Dir::State::Lists=$tools/lists" -o APT::Sandbox::User=root)
    "${apt[@]}" update >>"$tools/log" 2>&1 || { tail -n 5 "$tools/log" >&2; die "apt-get update failed"; }
    (cd "$tools" && "${apt[@]}" source --download-only --tar-only "rustc-web=$version") >>"$tools/log" 2>&1 ||
        { tail -n 5 "$tools/log" >&2; die "apt-get source failed"; }
    mkdir -p $to
    tar -xf "$tools/rustc-web_${version%-*}.orig.tar.xz" -C $to --strip-components=1 --wildcards '*/library/*'
    rm -f "$tools"/rustc-web_*
}

# What a program is linked with before and after all else, which Debian's Rust has not built for this target; where it looks.
startup_objects() {
    local to=/usr/lib/rustlib/$triple/lib
    for part in rsbegin rsend; do
        [ -e "$to/$part.o" ] && continue
        [ "$(id -u)" = 0 ] || die "please run as root once: the start-up objects go to $to"
        mkdir -p "$to"
        RUSTC_BOOTSTRAP=1 /usr/bin/rustc --target $triple --emit=obj -O -o "$to/$part.o" \
            /usr/lib/rustlib/src/rust/library/rtstartup/$part.rs
    done
}

# A folder that is Windows to the programs. Wine 8 lacks the library that Rust's standard library takes random bytes from.
wine_prefix() {
    export WINEPREFIX=$tools/prefix WINEDEBUG=${WINEDEBUG:--all} WINEDLLOVERRIDES=mscoree,mshtml=
    local system=$WINEPREFIX/drive_c/windows/system32
    [ -e "$system/bcryptprimitives.dll" ] && return
    say "setting up Wine"
    xvfb-run -a wine wineboot -i >>"$tools/log" 2>&1 || { tail -n 5 "$tools/log" >&2; die "Wine does not start"; }
    wineserver -w 2>/dev/null || true
    cat >"$tools/random.c" <<'C'
#include <windows.h>
#include <ntsecapi.h>
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T count) { return RtlGenRandom(bytes, (ULONG)count); }
C
    x86_64-w64-mingw32-gcc -shared -O -o "$tools/bcryptprimitives.dll" "$tools/random.c" -ladvapi32
    cp "$tools/bcryptprimitives.dll" "$system/"
}

# Cargo of Debian's Rust, for Windows; in a folder of its own, so that the other compiler's work stays.
display=()
cargo_windows() {
    local command=$1
    shift
    PATH=/usr/bin:$PATH RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 \
        CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER="$PWD/scripts/test-windows.sh --runner" \
        "${display[@]}" /usr/bin/cargo "$command" -Zbuild-std=std,panic_abort --locked --target $triple --target-dir target/windows "$@"
}

[ "$(. /etc/os-release && echo "$ID$VERSION_ID")" = debian12 ] || die "this is for Debian 12"
packages
library_sources
startup_objects
wine_prefix

say "building the tests and the library with $(/usr/bin/rustc --version)"
tested=(-p tfvk-device -p tfvk-ops -p tf-sys -p tfvk-plugin)
cargo_windows test --no-run --lib --tests "${tested[@]}"
cargo_windows build -p tfvk-plugin

exports=$(x86_64-w64-mingw32-objdump -p target/windows/$triple/debug/tensorflow_vulkan.dll | sed -n '/\[Ordinal\/Name Pointer\]/,$p')
# What TensorFlow looks up: the three without which nothing works, and whatever else of the kind the plug-in has.
for name in SE_InitPlugin TF_InitKernel TF_InitGraph $(grep -rhoE 'extern "C" fn (SE|TF)_Init[A-Za-z]+' crates/plugin/src | sed 's/.* //'); do
    grep -qw "$name" <<<"$exports" || die "tensorflow_vulkan.dll does not export $name"
done
say "tensorflow_vulkan.dll exports what TensorFlow asks for"

say "running the tests under $(wine --version 2>/dev/null)"
export TFVK_ALLOW_SOFTWARE=1
# Wine loads its Vulkan driver only with a display.
display=(xvfb-run -a bash -c '"$@" || result=$?; wineserver -k; exit ${result:-0}' bash)
result=0
cargo_windows test --no-fail-fast --lib --tests "${tested[@]}" -- "$@" || result=$?
if [ $# = 0 ]; then
    VK_DRIVER_FILES=/nonexistent VK_ICD_FILENAMES=/nonexistent \
        cargo_windows test -p tfvk-device --test device -- adapters::child_no_driver --exact --ignored || result=$?
fi
exit $result
