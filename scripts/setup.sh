#!/bin/sh
# Everything that `make demo` (no argument) and `make test` (argument `test`) need, from a fresh Debian or Ubuntu with Rust,
# a C++ compiler and Python 3.10 to 3.13: system packages, .venv, the release library, the wheel. Quick when nothing is new.
set -eu
cd "$(dirname "$0")/.."
purpose=${1:-demo}
venv=.venv

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }

# Installs Debian packages, as root or through sudo.
install() {
    say "installing $*"
    command -v apt-get >/dev/null || die "please install what these Debian packages hold: $*"
    sudo=
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || die "please run as root: apt-get install $*"
        sudo=sudo
    fi
    if ! $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >"$log" 2>&1; then
        $sudo apt-get update -q >>"$log" 2>&1 || true
        $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >>"$log" 2>&1 ||
            { tail -n 5 "$log" >&2; die "apt-get install $* failed"; }
    fi
}

mkdir -p target
log=target/setup.log
[ "$(uname -sm)" = "Linux x86_64" ] || die "this is for Linux on x86-64, not for $(uname -sm)"

# Compilers.
command -v cargo >/dev/null || die "Rust is missing: install it from https://rustup.rs (1.85 or later)"
cargo_version=$(cargo --version | sed 's/^cargo \([0-9]*\)\.\([0-9]*\).*/\1 \2/')
# shellcheck disable=SC2086 # two words
set -- $cargo_version
[ "$1" -gt 1 ] || [ "$2" -ge 85 ] || die "Rust $1.$2 is too old: 1.85 or later is needed"
command -v c++ >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null || install g++

# Python.
python=
for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11 python3.10; do
    if "$candidate" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 14))' 2>/dev/null; then
        python=$candidate
        break
    fi
done
[ -n "$python" ] || die "Python 3.10 to 3.13 is needed (set PYTHON to one)"

# The Vulkan loader; for the tests also the validator and the validation layer.
ldconfig=$(command -v ldconfig || echo /sbin/ldconfig)
has_library() { "$ldconfig" -p | grep -q "$1"; }
has_library libvulkan.so.1 || install libvulkan1
if [ "$purpose" = test ]; then
    command -v spirv-val >/dev/null || install spirv-tools
    ls /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json >/dev/null 2>&1 || install vulkan-validationlayers
fi

# The environment: again when the requirements or the Python change.
wanted="$("$python" -V) $purpose $(cksum <scripts/requirements-"$purpose".txt)"
stamp="$venv/.requirements-$purpose"
if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
    if [ -x "$venv/bin/python" ] && [ "$("$venv/bin/python" -V 2>&1)" != "$("$python" -V)" ]; then rm -rf "$venv"; fi
    if [ ! -x "$venv/bin/python" ]; then
        say "making $venv with $("$python" -V)"
        "$python" -m venv "$venv" >"$log" 2>&1 || { rm -rf "$venv"; install python3-venv; "$python" -m venv "$venv"; }
    fi
    say "installing TensorFlow and what $purpose needs into $venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r scripts/requirements-"$purpose".txt
    echo "$wanted" >"$stamp"
fi

# The library, and the wheel when the library or the Python package changed.
say "building the library"
cargo build --release --locked --quiet -p tfvk-plugin
library=target/release/libtensorflow_vulkan.so
content=$(find python "$library" -type f ! -path '*/__pycache__/*' ! -path 'python/tests/*' -exec cksum {} + | LC_ALL=C sort | cksum)
if [ "$(cat "$venv/.wheel" 2>/dev/null)" != "$content" ]; then
    say "building and installing the wheel"
    rm -rf dist
    TFVK_LIBRARY=$PWD/$library "$venv/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation -w dist ./python
    size=$(stat -c %s dist/*.whl)
    [ "$size" -le 10000000 ] || die "the wheel has $size bytes, 10,000,000 at most"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall dist/*.whl
    echo "$content" >"$venv/.wheel"
fi

# A GPU with a driver, or else the software one.
if "$venv/bin/tfvk" devices >/dev/null 2>&1; then
    rm -f "$venv/.software"
else
    if ! TFVK_ALLOW_SOFTWARE=1 "$venv/bin/tfvk" devices >/dev/null 2>&1; then install mesa-vulkan-drivers; fi
    # It may have brought the driver of a GPU, too.
    if "$venv/bin/tfvk" devices >/dev/null 2>&1; then rm -f "$venv/.software"; else touch "$venv/.software"; fi
fi
say "ready"
