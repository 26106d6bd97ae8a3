# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the scripts of the folders beside this one.
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")

die() { # MESSAGE
    echo "$0: $1" >&2
    exit 2
}

# options NAMES MOST ARGUMENT...: each option --NAME VALUE sets the variable NAME.  What follows the
# options is left in `operands`, MOST of them.
options() {
    local known=$1 most=$2 option
    shift 2
    while [[ ${1:-} == -* ]]; do
        option=${1#--}
        [[ " $known " == *" $option "* ]] || die "no option $1; its first lines list them"
        [ $# -ge 2 ] || die "$1 needs a value"
        declare -g "$option=$2"
        shift 2
    done
    # shellcheck disable=SC2034
    operands=("$@")
    [ $# -le "$most" ] || die "$# operands, and at most $most are known; its first lines list them"
}

need() { # VARIABLE...: of the environment
    local variable
    for variable; do
        [ -n "${!variable:-}" ] || die "set $variable"
    done
}

# program NAME: its path in the build folder, which may not be there.
program() {
    (cd "$root" && realpath -m "${SPMM_BUILD_DIR:-build/cuda}/$1")
}

# The matrices of the tables whose name (without the ending of the file) matches REGEX, into
# `files`: those with at least 80,000 entries of SPMM_MATRIX_DIR, by its INDEX.tsv, and the
# stand-ins of SPMM_STANDIN_DIR; of a folder that is not set none.
collect() { # REGEX
    local all=() file name missing=0
    files=()
    if [ -n "${SPMM_MATRIX_DIR:-}" ]; then
        [ -f "$SPMM_MATRIX_DIR/INDEX.tsv" ] || die "no file $SPMM_MATRIX_DIR/INDEX.tsv"
        mapfile -t all < <(awk -F '\t' -v folder="$(realpath "$SPMM_MATRIX_DIR")" \
            'NR > 1 && $4 >= 80000 { print folder "/" $1 ".mtx.gz" }' "$SPMM_MATRIX_DIR/INDEX.tsv")
    fi
    if [ -n "${SPMM_STANDIN_DIR:-}" ]; then
        while read -r name; do
            all+=("$(realpath "$SPMM_STANDIN_DIR")/$name.csr")
        done < <("$root/bench/engine/standins.sh" --list)
    fi
    for file in "${all[@]}"; do
        name=${file##*/}
        name=${name%.mtx.gz}
        [[ ${name%.csr} =~ $1 ]] || continue
        files+=("$file")
        [ -f "$file" ] || { echo "$0: no file $file" >&2 && missing=1; }
    done
    [ $missing -eq 0 ] || exit 2
}

# write_table OUTPUT PROGRAM ARGUMENT...: what it prints of `files`, behind a line that says how;
# OUTPUT is replaced at the end.  The exit code is left in `status`.
# shellcheck disable=SC2154 # names and made_by are of the script
write_table() {
    [ -x "$2" ] || die "no program $2"
    [ ${#files[@]} -gt 0 ] || die "no matrix has a name that matches $names"
    mkdir -p "$(dirname "$1")"
    status=0
    {
        echo "# made by $made_by, $(date -u '+%F %H:%M') UTC; $(commit)"
        "${@:2}" "${files[@]}"
    } >"$1.part" || status=$?
    mv "$1.part" "$1"
}

commit() {
    git -C "$root" describe --always --dirty 2>/dev/null || echo 'no git'
}
