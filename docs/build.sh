#!/bin/sh
# sh docs/build.sh    build the documentation into docs/_build/html; warnings are errors
#
# Needs the extra `docs` in the environment, and npm, which fetches MathJax so that the pages make no request.
set -eu
cd "$(dirname "$0")"
python=${UQ_PYTHON:-../.venv/bin/python}
if [ ! -e _static/mathjax/tex-chtml.js ]; then
    npm install --silent --no-save --no-package-lock --prefix _build/npm mathjax@3.2.2
    mkdir -p _static/mathjax/output/chtml/fonts
    cp _build/npm/node_modules/mathjax/es5/tex-chtml.js _static/mathjax/
    cp -r _build/npm/node_modules/mathjax/es5/output/chtml/fonts/woff-v2 _static/mathjax/output/chtml/fonts/
fi
exec "$python" -m sphinx -q -W --keep-going -b html . _build/html
