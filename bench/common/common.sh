# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the scripts of this folder.
folder=$(realpath "$(dirname "${BASH_SOURCE[0]}")")

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

# Names in the folder's INDEX.tsv of matrices with at least 80,000 entries: those of the tables.
table_matrices() { # DIR
    [ -f "$1/INDEX.tsv" ] || die "no file $1/INDEX.tsv"
    awk -F '\t' 'NR > 1 && $4 >= 80000 { print $1 }' "$1/INDEX.tsv"
}

commit() {
    git -C "$folder" describe --always --dirty 2>/dev/null || echo 'no git'
}
