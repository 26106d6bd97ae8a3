#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One site in build/site: the documents by MkDocs, from PyPI, and the reference of the public
# headers by Doxygen.  A warning is an error, such as a link to nowhere.  To read and search it:
#     python3 -m http.server -d build/site
# docs.sh --api FOLDER makes the reference alone, in FOLDER/html.  77: there is no Doxygen.
set -eu -o pipefail
cd "$(dirname "$0")/.."
if ! command -v doxygen >/dev/null; then
    echo "skipped: doxygen is not installed (apt-get install doxygen)"
    exit 77
fi
api=${2:-build/docs}
mkdir -p "$api"
api=$(cd "$api" && pwd)
version=$(sed -nE 's/.*SPMM_VERSION_STRING "([^"]*)".*/\1/p' include/spmm_dist/version.h)
sed "s|@VERSION@|$version|; s|@OUTPUT@|$api|" docs/Doxyfile.in >"$api/Doxyfile"
doxygen "$api/Doxyfile"
cp "$api/html/files.html" "$api/html/index.html" # which has nothing
[ "${1:-}" != --api ] || exit 0

python3 -m venv build/site_venv
build/site_venv/bin/pip install --quiet -r docs/site/requirements.txt
rm -rf build/pages
mkdir build/pages
find . \( -path ./build -o -path './.*' \) -prune -o \( -name '*.md' -o -name '*.svg' \) \
    -exec cp --parents -t build/pages {} +
NO_MKDOCS_2_WARNING=1 build/site_venv/bin/mkdocs build -f docs/site/mkdocs.yml
cp -r "$api/html" build/site/api
echo build/site/index.html
