#!/bin/sh
# sh tests/oldest.sh [FOLDER] [arguments of pytest]   install and test the lower bounds of pyproject.toml
#
# Makes a virtual environment in FOLDER (by default a temporary one) with the oldest version that pyproject.toml allows
# of every library of the package, its full extras and its tests, and runs the tests of most subpackages with it.
set -eu
cd "$(dirname "$0")/.."
folder=${1:-$(mktemp -d)}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- tests/core tests/evidence tests/document tests/checks tests/inputs tests/cli tests/runner tests/methods

"${UQ_PYTHON:-python3}" -m venv "$folder"
"$folder/bin/python" -m pip install -q uv
"$folder/bin/uv" pip install -q --python "$folder" --resolution lowest-direct -e ".[full,test]"
# The newest versions of indirect dependencies deprecate functions that the oldest direct ones call.
exec "$folder/bin/python" -m pytest -q -p no:cacheprovider -W ignore::DeprecationWarning "$@"
