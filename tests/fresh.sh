#!/bin/sh
# sh tests/fresh.sh SUITE [COMMAND]   run the commands of the README in a fresh Debian SUITE (bookworm, trixie, forky)
#
# Installs a minimal Debian with Python into a temporary folder, copies HEAD into it, and runs COMMAND there (both
# commands of the README by default). Needs root, debootstrap and unshare. The mirror and settings of apt, the
# certificates and the settings of pip are those of this machine. The mounts live in a namespace and disappear with it.
set -eu
cd "$(dirname "$0")/.."
suite=${1:?"usage: sh tests/fresh.sh SUITE [COMMAND]"}
command=${2:-sh quickstart.sh && sh quickstart.sh test}

root=$(mktemp -d)
trap 'rm -rf --one-file-system "$root"' EXIT
trap 'exit 130' INT TERM

# debootstrap names its default mirror itself; it may be older than the suite, all recent ones are set up like sid.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | head -n 1)
[ -e "/usr/share/debootstrap/scripts/$suite" ] || script=/usr/share/debootstrap/scripts/sid
# shellcheck disable=SC2086  # an absent script is no argument
unshare --mount --pid --fork --kill-child --mount-proc \
    debootstrap --variant=minbase --include=python3,ca-certificates "$suite" "$root" "$mirror" ${script-} \
    >"$root.log" 2>&1 || { cat "$root.log"; exit 1; }
rm -f "$root.log"

for file in /etc/resolv.conf /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
    [ ! -e "$file" ] || cp -L "$file" "$root$file"
done
echo "127.0.0.1 localhost" >"$root/etc/hosts"  # as the installer writes it; debootstrap does not
apt-config dump Acquire >"$root/etc/apt/apt.conf.d/99host"
mkdir "$root/checkout"
git archive HEAD | tar -x -C "$root/checkout"

settings=$(env | grep -E '^(PIP_[A-Z_]*|[a-z]+_proxy)=[^ ]*$' || true)
# shellcheck disable=SC2016,SC2086  # the inner shell expands its arguments; settings are words
unshare --mount --pid --fork --kill-child sh -euc '
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    exec chroot "$1" env -i HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin ${3} sh -c "cd /checkout && $2"
' sh "$root" "$command" "$settings"
