#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Generate the stand-ins for the large matrices of the benchmark tables, as binary CSR.
#
#     bench/engine/standins.sh OUT_DIR [NAME...]   default: the twenty of the tables, about 1.5 GB
#     bench/engine/standins.sh --list              their names
#
#   CC                    default cc
#   JOBS                  generated at a time, default the number of cores; the largest takes 3 GB
#
# The generator is in bench/standins; new files are compared with its checksums.md5.  Files that are
# there already are kept.  Every name that the generator knows is accepted.
set -euo pipefail

# The largest first, so that none of them is started last.
names=(syn-reddit syn-protein syn-Emilia_923 syn-in-2004 syn-rmat20 syn-mip1 syn-shipsec1
    syn-web-BerkStan syn-lap3d syn-FraudYelp-RSR syn-YeastH syn-roadNet-CA syn-web-Google
    syn-soc-BlogCatalog syn-cant syn-ASIC_680k syn-amazon0601 syn-conf5_4-8x8 syn-com-amazon
    syn-dnn-95)

case ${1:-} in
    --list)
        printf '%s\n' "${names[@]}"
        exit 0 ;;
    '' | -*)
        echo "usage: $0 OUT_DIR [NAME...] | --list" >&2
        exit 2 ;;
esac
out=$1
shift
[ $# -eq 0 ] || names=("$@")
source=$(realpath "$(dirname "$0")/../standins")
mkdir -p "$out"
# Multiply-adds would round once where the processor has them, and change the files.
"${CC:-cc}" -std=c11 -O2 -ffp-contract=off -o "$out/gen_standins" "$source"/*.c -lm

missing=()
for name in "${names[@]}"; do
    [ -f "$out/$name.csr" ] || missing+=("$name")
done
# Each file gets its name when it is complete, so that an interrupted run leaves no half of one.
status=0
if [ ${#missing[@]} -gt 0 ]; then
    # shellcheck disable=SC2016
    printf '%s\n' "${missing[@]}" | xargs -P "${JOBS:-$(nproc)}" -I NAME sh -c \
        '"$1/gen_standins" "$2" "$1/$2.part" && mv "$1/$2.part" "$1/$2.csr" || {
            rm -f "$1/$2.part"; exit 1; }' - "$out" NAME || status=1
fi
sums=$source/checksums.md5
for name in "${names[@]}"; do
    if [ ! -f "$out/$name.csr" ]; then
        echo "$0: $name could not be generated" >&2
        status=1
        continue
    fi
    printf '%12d bytes  %s\n' "$(stat -c %s "$out/$name.csr")" "$out/$name.csr"
    case " ${missing[*]-} " in *" $name "*) ;; *) continue ;; esac
    wanted=$(sed -n "s|^\([0-9a-f]*\)  $name\.csr\$|\1|p" "$sums" 2>/dev/null || true)
    if [ -n "$wanted" ] && [ "$(md5sum <"$out/$name.csr")" != "$wanted  -" ]; then
        echo "$0: $name differs from the file that $sums describes: its times are no comparison" >&2
        status=1
    fi
done
exit $status
