#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs.sh [FOLDER]: makes the reference of the public headers and the guides as HTML in FOLDER
# (default build/docs), by Doxygen; a warning is an error.  77: there is no Doxygen.
set -eu -o pipefail
cd "$(dirname "$0")/.."
folder=${1:-build/docs}
if ! command -v doxygen >/dev/null; then
    echo "skipped: doxygen is not installed (apt-get install doxygen)"
    exit 77
fi
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
version=$(sed -nE 's/.*SPMM_VERSION_STRING "([^"]*)".*/\1/p' include/spmm_dist/version.h)
sed "s|@VERSION@|$version|; s|@OUTPUT@|$folder|" docs/Doxyfile.in >"$folder/Doxyfile"
doxygen "$folder/Doxyfile"
[ -f "$folder/html/index.html" ]
echo "$folder/html/index.html"
