#!/bin/sh
# sh quickstart.sh         set everything up and write a real audit report
# sh quickstart.sh test    set everything up and run the whole test suite (further words go to pytest)
# sh quickstart.sh fast    set everything up and run the tests that need no optional library and write no report
# sh quickstart.sh check   the fast tests, style, types and layers
# sh quickstart.sh setup   set everything up, nothing more
#
# Needs Debian or Ubuntu with Python 3.11 to 3.14. UQ_PYTHON names another interpreter, UQ_VENV another
# folder for the virtual environment, UQ_EXTRAS other extras than those of a full audit.
set -eu
cd "$(dirname "$0")"
task=${1:-demo}
[ $# -eq 0 ] || shift
venv=${UQ_VENV:-.venv}

say() { printf '%s\n' "quickstart: $*" >&2; }
fail() { say "$*"; exit 1; }

find_python() {
    for candidate in ${UQ_PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    fail "needs Python 3.11 to 3.14; none of ${UQ_PYTHON:-python3 python3.14 python3.13 python3.12 python3.11} is one." \
        "Install one (apt-get install python3.11), or name it: UQ_PYTHON=/path/to/python3.12 sh quickstart.sh"
}

# The Debian packages that are missing, found by trying what they provide.
missing_packages() {
    "$python" -c 'import ensurepip' 2>/dev/null ||
        printf 'python%s-venv ' "$("$python" -c 'import sys; print("3" if sys.executable.endswith("python3") else "%d.%d" % sys.version_info[:2])')"
    for pair in libpango-1.0.so.0:libpango-1.0-0 libpangoft2-1.0.so.0:libpangoft2-1.0-0 \
        libharfbuzz-subset.so.0:libharfbuzz-subset0; do
        "$python" -c "import ctypes; ctypes.CDLL('${pair%%:*}')" 2>/dev/null || printf '%s ' "${pair#*:}"
    done
    # WeasyPrint needs at least one font; Pango's packages bring DejaVu only as a recommendation.
    [ -d /usr/share/fonts/truetype/dejavu ] || printf 'fonts-dejavu-core '
}

install_packages() {
    packages=$(missing_packages)
    [ -n "$packages" ] || return 0
    command -v apt-get >/dev/null ||
        fail "these system libraries are missing: $packages(names of Debian packages). Install your system's equivalent."
    root=""
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null ||
            fail "may not install system packages. Ask an administrator to run: apt-get install $packages"
        root=sudo
    fi
    say "installing system packages: $packages"
    $root apt-get update -qq || say "apt-get update failed; trying with the lists at hand"
    # shellcheck disable=SC2086  # a list of package names
    $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >&2 ||
        fail "could not install system packages. Run as an administrator: apt-get install $packages"
}

make_venv() {
    "$venv/bin/python" -m pip --version >/dev/null 2>&1 && return
    rm -rf "$venv"
    say "making the virtual environment $venv"
    "$python" -m venv "$venv" || { rm -rf "$venv"; fail "$python -m venv failed; see the message above."; }
}

# Install the package with extras $1, unless exactly this was installed before.
install_package() {
    wanted="$1 $(cksum < pyproject.toml) $(pwd)"
    [ "$(cat "$venv/.installed" 2>/dev/null)" != "$wanted" ] || return 0
    say "installing uq_report[$1] into $venv (a few minutes the first time)"
    "$venv/bin/python" -m pip install -q --disable-pip-version-check -e ".[$1]"
    printf '%s\n' "$wanted" > "$venv/.installed"
}

run_fast() {
    fast=uq_report
    for room in core evidence document checks methods inputs jobs api cli golden; do fast="$fast tests/$room"; done
    # shellcheck disable=SC2086  # a list of folders
    "$venv/bin/python" -m pytest -q -n auto $fast "$@"
}

# mypy runs beside the other checks: each takes one processor for about as long.
run_check() {
    bin=$venv/bin failed=""
    types=$(mktemp)
    "$bin/mypy" >"$types" 2>&1 &
    mypy=$!
    "$bin/ruff" check . || failed="$failed style"
    "$bin/ruff" format --check . || failed="$failed format"
    "$bin/lint-imports" --no-logo || failed="$failed layers"
    run_fast "$@" || failed="$failed tests"
    wait "$mypy" || failed="$failed types"
    cat "$types"
    rm -f "$types"
    [ -z "$failed" ] || fail "the check failed:$failed"
    say "style, types, layers and the fast tests are green"
}

python=$(find_python)
install_packages
make_venv
case $task in
    demo)
        install_package "${UQ_EXTRAS:-full}"
        exec "$venv/bin/uq-report" demo "$@"
        ;;
    test)
        install_package "${UQ_EXTRAS:-full,test}"
        exec "$venv/bin/python" -m pytest -n auto -q "$@"
        ;;
    fast)
        install_package "${UQ_EXTRAS:-full,test}"
        run_fast "$@"
        ;;
    check)
        install_package "${UQ_EXTRAS:-full,test,lint}"
        run_check "$@"
        ;;
    setup)
        install_package "${UQ_EXTRAS:-full,test}"
        ;;
    *)
        fail "the first word must be demo, test, fast, check or setup; got '$task'."
        ;;
esac
