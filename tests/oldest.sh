#!/bin/sh
# sh tests/oldest.sh [FOLDER] [words for pytest]   the lower bounds of pyproject.toml, installed and tested
#
# Makes a virtual environment in FOLDER (a temporary one by default) with the oldest version of everything that the
# package, its full extras and its tests allow, and runs the tests of all rooms up to the runner in it.
set -eu
cd "$(dirname "$0")/.."
folder=${1:-$(mktemp -d)}
[ $# -eq 0 ] || shift
rooms="tests/core tests/evidence tests/document tests/rules tests/cli tests/runner tests/methods"

"${UQ_PYTHON:-python3}" -m venv "$folder/venv"
python=$folder/venv/bin/python
"$python" -m pip install -q packaging
"$python" - "$folder/oldest.txt" <<'END'
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
wanted = map(Requirement, [*project["dependencies"], *(line for lines in extras.values() for line in lines)])
lowest = {
    f"{one.name}=={bound.version}" for one in wanted for bound in one.specifier if bound.operator in (">=", "==")
}
Path(sys.argv[1]).write_text("\n".join(sorted(lowest)) + "\n")
END
"$python" -m pip install -q --constraint "$folder/oldest.txt" -e ".[full,test]"
"$python" -m pip list --format=freeze >"$folder/installed.txt"
# shellcheck disable=SC2086  # a list of folders
[ $# -gt 0 ] || set -- $rooms
# The newest of what those libraries need deprecates what they call.
"$python" -m pytest -q -p no:cacheprovider -W ignore::DeprecationWarning "$@"
