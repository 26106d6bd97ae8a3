#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every lint is able to fail: a clean little tree passes, and each line below that breaks one rule
# makes its lint answer 1.
set -u
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
licence='/* SPDX-License-Identifier: Apache-2.0 */'
bad=0

# expect STATUS LINT: run it over the tree.
expect() {
    local status=0 output
    output=$("$here/check_$2.sh" "$tree" 2>&1) || status=$?
    if [ "$status" = 77 ] && [ "$1" = 1 ]; then
        return
    fi
    if [ "$status" != "$1" ] && [ "$status" != 77 ]; then
        echo "check_$2.sh answered $status, not $1, after writing: ${last:-the clean tree}"
        printf '%s\n' "$output"
        bad=1
    fi
}

# rejects LINT FILE LINE...: the lint refuses the file with these lines.
rejects() {
    local lint=$1 file=$2
    shift 2
    last="$file: $*"
    if [ -f "$tree/$file" ]; then cp "$tree/$file" "$tree.kept"; fi
    mkdir -p "$(dirname "$tree/$file")"
    printf '%s\n' "$@" >"$tree/$file"
    expect 1 "$lint"
    rm -f "$tree/$file"
    if [ -f "$tree.kept" ]; then mv "$tree.kept" "$tree/$file"; fi
}

mkdir -p "$tree"/{include/spmm_dist,src/base,src/device,src/matrix,src/engine/name,src/plan} \
    "$tree"/{partition,kernels/cuda}
cp "$here/../../.clang-format" "$tree/"
cp "$here/../../include/spmm_dist/types.h" "$tree/include/spmm_dist/"
printf '%s\n' "$licence" '#include "spmm_dist/types.h"' >"$tree/kernels/kernel_args.h"
printf '%s\n' "$licence" '#include "kernel_args.h"' >"$tree/src/engine/name/args.h"
printf '%s\n' "$licence" '#include "kernel_args.h"' '' '#include "engine/name/args.h"' \
    >"$tree/kernels/cuda/a.cu"
printf '%s\n' "$licence" '#include "matrix/matrix.h"' >"$tree/partition/block.c"
printf '%s\n' "$licence" '#include <mpi.h>' '' '#include "kernel_args.h"' \
    '#include "partition/partition.h"' >"$tree/src/plan/plan.c"
mkdir -p "$tree"/{scripts,src/engine/ell}
printf '%s\n' "$licence" 'SPMM_ENGINE(ell)' 'SPMM_ENGINE(ell_gpu)' >"$tree/src/engine/engine_list.h"
printf '%s\n' "$licence" 'int spmmi_ell(void); /* ell-gpu */' >"$tree/src/engine/ell/ell.h"
printf '%s\n' "$licence" 'const spmm_engine_ops_t spmmi_engine_ell     = {0};' \
    'const spmm_engine_ops_t spmmi_engine_ell_gpu = {0};' >"$tree/src/engine/ell/ell.c"
printf '%s\n' '#!/bin/sh' '# SPDX-License-Identifier: Apache-2.0' 'echo' >"$tree/scripts/clean.sh"
printf '%s\n' '# SPDX-License-Identifier: Apache-2.0' 'x = 1' >"$tree/scripts/clean.py"
for lint in layers headers format cppcheck files scripts words columns engine_names \
    python; do
    expect 0 $lint
done

rejects layers src/base/a.c '#include "device/device.h"'
rejects layers src/base/a.c '#include "kernel_args.h"'
rejects layers src/device/a.h '  #  include "matrix/csr.h"'
rejects layers src/matrix/a.c '#include "partition/layout.h"'
rejects layers src/matrix/a.c '#include "../plan/plan.h"'
rejects layers partition/a.c '#include "engine/engine.h"'
rejects layers partition/a.c '#include "api/context.h"'
rejects layers src/engine/a.c '#include "exchange/halo.h"'
rejects layers src/exchange/a.c '#include "plan/plan.h"'
rejects layers src/plan/a.c '#include "api/context.h"'
rejects layers src/other/a.c '#include <stdio.h>'
rejects layers kernels/cuda/b.cu '#include <mpi.h>'
rejects layers kernels/cuda/b.cuh '#include "base/env.h"'
rejects layers kernels/cuda/b.cuh '#include "engine/name/format.h"'
rejects layers src/engine/name/args.h '#include "base/env.h"'
rejects layers kernels/cpu/b.c '#include "spmm_dist/context.h"'
rejects layers kernels/cuda/b.cu '#include "base/scalar.h"'
rejects layers src/base/scalar.h '#include <mpi.h>'
rejects layers src/base/scalar.h '#include "base/env.h"'
rejects layers include/spmm_dist/a.h '#include "base/env.h"'
rejects layers examples/a.c '#include "plan/plan.h"'
rejects layers examples/a.c '#include "plan.h"'
rejects headers include/spmm_dist/a.h 'static inline size_t f(void) { return 0; }'
rejects headers include/spmm_dist/a.h 'typedef int class;'
rejects headers kernels/kernel_args.h '#include <no_such_header.h>'
rejects headers src/engine/name/args.h '#include <no_such_header.h>'
rejects format src/base/a.c 'int  a;'
rejects format kernels/cuda/b.cu '__global__ void k(int *a){*a=1;}'
rejects cppcheck src/base/a.c 'int f(void);' 'int f(void) { int a[2] = {0, 1}; return a[2]; }'
rejects cppcheck src/base/a.c '#ifndef SPMM_HAVE_METIS' 'int f(int a) { return a / 0; }' '#endif'
rejects cppcheck tools/a.c '#ifdef SPMM_HAVE_CUDA' 'int f(int a) { return a / 0; }' '#endif'
rejects files src/base/a.c 'int a;'
rejects files scripts/a.sh '#!/bin/sh'
rejects files include/spmm_dist/a.f90 'module a'
rejects files tools/CMakeLists.txt 'project(a)'
rejects files kernels/cuda/b.cu "$licence" "// $(printf 'TO%s' DO): finish"
rejects files src/base/a.c "$licence" "$(yes 'int a;' | head -n 900)"
rejects files tests/unit/a.c "$licence" "$(yes 'int a;' | head -n 450)"
rejects files src/base/a.c "$licence" "#pragma omp parallel for schedule(static) \\" \
    '    if (n > 1)'
rejects scripts scripts/a.sh '#!/bin/bash' 'if true; then'
rejects python tools/a.py '# SPDX-License-Identifier: Apache-2.0' 'import os'
rejects python tools/a.py '# SPDX-License-Identifier: Apache-2.0' 'x=1'
rejects scripts jobs/a.sbatch '#!/bin/bash' "rm \$1"

rejects words src/base/a.c '/* Rows of the halo graph. */'
rejects words src/base/a.h 'spmm_forms_t forms;'
rejects words src/engine/a.h 'typedef int spmm_ell_shape_t;'
rejects words tools/a.c 'if (strcmp(transport, "nccl-pull") == 0)'
rejects words docs/a.md 'Use spmm_buffer_alloc_shared.'
rejects words docs/a.md 'It is the fastest today.'
rejects words docs/a.md 'The kernel no longer waits.'
rejects words src/base/a.c '/* Order as it was. */'
rejects words include/spmm_dist/a.h 'int column_groups;'
rejects words tools/a.c '"--column-groups K"'
rejects words README.md 'Option use_fewer_ranks.'
rejects words docs/a.md 'Engine cusparse-bell.'
rejects words docs/a.md 'Schedule merged2.'
rejects words bench/a/a.py '"reorder=rcm"'
rejects words docs/a.md 'With --levels node rows cross once.'
rejects words tools/a.c 'options.no_autotune = 1;'
rejects words docs/a.md 'Files of binsparse.'
rejects columns src/base/a.c "/* $(printf '%98s' x) */"
rejects columns scripts/a.sh "# $(printf '%99s' x)"
rejects columns docs/a.md "$(printf '%101s' x | tr ' ' y)"
rejects engine_names src/plan/a.c 'if (strcmp(name, "ell-gpu") == 0) {'
rejects engine_names src/engine/a.c '#include "engine/ell/ell.h"'
rejects engine_names src/plan/a.h 'double ell[3];'
rejects engine_names src/engine/engine_list.h 'SPMM_ENGINE(nowhere)'
rejects engine_names partition/a.c '/* As ell has it. */'
rejects files src/base/a.h "$licence" '/** @file b.h */'
for n in {1..26}; do printf '%s\n' "$licence" >"$tree/src/base/many$n.h"; done
last="a folder of 26 files"
expect 1 files
rm -f "$tree"/src/base/many*.h

# What stays allowed: a table, a link and code of a document; a comparison of lengths.
mkdir -p "$tree/docs"
{
    printf '| %s |\n' "$(printf '%101s' x)"
    printf '[%s](a.md)\n' "$(printf '%101s' x)"
    printf '%s\n' '```' "$(printf '%101s' x)" '```' 'It takes no longer than that.' \
        'See [column_groups.c](../examples/column_groups.c).'
} >"$tree/docs/a.md"
last="a document with long tables, links and code"
expect 0 columns
expect 0 words
rm -f "$tree/docs/a.md"

# The budget of lines, in a checkout made for it.
if command -v git >/dev/null; then
    # answers STATUS [--write]: what the lint shall say of the checkout.
    answers() {
        local status=0
        git -C "$tree/budget" add .
        "$here/check_budget.sh" "$tree/budget" "${@:2}" >/dev/null || status=$?
        [ "$status" = "$1" ] || { echo "check_budget.sh answered $status, not $1: $last"; bad=1; }
    }
    mkdir -p "$tree/budget/src" "$tree/budget/tests/lint"
    git init -q "$tree/budget"
    echo 'int a;' >"$tree/budget/src/a.c"
    printf '%s\t%s\n' folder lines src 1 tests 4 >"$tree/budget/tests/lint/budget.tsv"
    last="as many lines as the budget has"
    answers 0
    last="a line beyond the budget"
    echo 'int b;' >>"$tree/budget/src/a.c"
    answers 1
    answers 0 --write
    answers 0
    last="a folder without a budget"
    mkdir "$tree/budget/tools"
    echo 'int c;' >"$tree/budget/tools/c.c"
    answers 1
fi

# The exported symbols against the declared ones, with a library made for it.
if command -v nm >/dev/null; then
    last="a library that exports spmm_a, where the header declares spmm_a and spmm_b"
    mkdir -p "$tree/symbols/include/spmm_dist"
    echo 'int spmm_a(void); int spmm_a(void) { return 0; }' |
        cc -shared -fPIC -x c - -o "$tree/symbols/lib.so"
    echo 'SPMM_API int spmm_a(void);' >"$tree/symbols/include/spmm_dist/a.h"
    "$here/check_symbols.sh" "$tree/symbols" "$tree/symbols/lib.so" ||
        { echo "check_symbols.sh refused equal lists"; bad=1; }
    echo 'SPMM_API const char *spmm_b(void);' >>"$tree/symbols/include/spmm_dist/a.h"
    "$here/check_symbols.sh" "$tree/symbols" "$tree/symbols/lib.so" >/dev/null &&
        { echo "check_symbols.sh passed: $last"; bad=1; }
    echo 'SPMM_API int spmm_c(void);' >"$tree/symbols/include/spmm_dist/a.h"
    "$here/check_symbols.sh" "$tree/symbols" "$tree/symbols/lib.so" >/dev/null &&
        { echo "check_symbols.sh passed a library that exports what is not declared"; bad=1; }

    echo 'SPMM_API int spmm_a(void);' >"$tree/symbols/include/spmm_dist/a.h"
    for name in spmmi_b spmm_b b; do
        echo "int spmm_a(void); int $name(void); int spmm_a(void) { return 0; }
              int $name(void) { return 1; }" | cc -c -x c - -o "$tree/symbols/a.o"
        rm -f "$tree/symbols/lib.a"
        ar rc "$tree/symbols/lib.a" "$tree/symbols/a.o"
        status=0
        "$here/check_symbols.sh" "$tree/symbols" "$tree/symbols/lib.a" >/dev/null || status=$?
        if [ "$status" != "$([ $name = spmmi_b ]; echo $?)" ]; then
            echo "check_symbols.sh answered $status for a static library that defines $name"
            bad=1
        fi
    done
fi

# Circles among objects made for it: two files of one layer, three of another by way of subfolders.
if command -v nm >/dev/null && command -v tsort >/dev/null; then
    # object FILE CODE: the object of a source file below the folder of objects.
    object() {
        mkdir -p "$(dirname "$tree/circles/$1")" "$(dirname "$tree/objects/$1")"
        echo "$2" >"$tree/circles/$1"
        cc -c "$tree/circles/$1" -o "$tree/objects/$1.o"
    }
    # answers STATUS: what the lint shall say of the objects there are.
    answers() {
        local status=0
        "$here/check_circles.sh" "$tree/circles" "$tree/objects" >/dev/null || status=$?
        [ "$status" = "$1" ] || { echo "check_circles.sh answered $status, not $1: $last"; bad=1; }
    }
    last="no objects"
    mkdir "$tree/circles" "$tree/objects"
    answers 1
    last="a chain, and two layers that need each other"
    object src/plan/a.c 'int b(void); int a(void) { return b(); }'
    object src/plan/b.c 'int b(void) { return 0; }'
    object src/base/c.c 'int d(void); int c(void) { return d(); }'
    object src/device/d.c 'int c(void); int d(void) { return c(); }'
    answers 0
    last="two files that need each other"
    object src/plan/b.c 'int a(void); int b(void) { return a(); }'
    answers 1
    last="three files in folders of one layer"
    object src/plan/b.c 'int e(void); int b(void) { return e(); }'
    object src/plan/sub/e.c 'extern const int table[]; int e(void) { return table[0]; }'
    object src/plan/sub/f.c 'int a(void); int (*const table[])(void) = {a};'
    answers 1
    last="the object of a file that is no more"
    rm "$tree/circles/src/plan/sub/f.c"
    answers 0
fi
exit $bad
