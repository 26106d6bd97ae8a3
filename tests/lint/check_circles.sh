#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_circles.sh ROOT OBJECTS: no files of one layer need each other, not even by way of others.
# A layer is src/NAME or partition, subfolders included; who needs whom is read from the symbols of
# the objects below the folder OBJECTS, where each lies as its source does below ROOT; those whose
# source is gone do not count.
# shellcheck source=tests/lint/lint.sh
. "$(dirname "$0")/lint.sh"
skip_without nm
skip_without tsort
root=$PWD
cd "$2" || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

find . -name '*.o' | while read -r object; do
    [ ! -f "$root/${object%.o}" ] || echo "$object"
done | xargs -r nm -A >"$work/symbols" 2>/dev/null
[ -s "$work/symbols" ] || { echo "no objects below $2"; exit 1; }

# "user provider symbol" for every symbol that a file takes from another one of its layer.
awk 'function layer(file) {
         return match(file, /^(src\/[^\/]+|[^\/]+)\//) ? substr(file, 1, RLENGTH) : file
     }
     { file = $1; sub(/^\.\//, "", file); sub(/\.o:.*/, "", file) }
     $(NF - 1) ~ /^[TDBR]$/ { home[$NF] = file }
     $(NF - 1) == "U" { user[++n] = file; symbol[n] = $NF }
     END {
         for (k = 1; k <= n; k++) {
             to = home[symbol[k]]
             if (to != "" && to != user[k] && layer(to) == layer(user[k]))
                 print user[k], to, symbol[k]
         }
     }' "$work/symbols" | sort -u >"$work/needs"

# tsort answers each circle by a line that ends in "loop:" and one line for each file of it.
cut -d' ' -f1,2 "$work/needs" | tsort 2>&1 >/dev/null | sed 's/^tsort: //' >"$work/loops"
[ -s "$work/loops" ] || exit 0
awk 'NR == FNR { if (/loop:$/) loop++; else inside[loop, $1] = 1; next }
     { for (k = 1; k <= loop; k++) if ((k, $1) in inside && (k, $2) in inside)
           print "circle " k ": " $1 " needs " $3 " of " $2 }' \
    "$work/loops" "$work/needs" | sort -V
exit 1
