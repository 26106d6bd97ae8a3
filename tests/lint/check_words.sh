#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One word for each thing, and the state of things, not their history: words that are retired stand
# in no code and no document.  The changelog tells history, and results are kept as they were
# printed.
# shellcheck source=tests/lint/lint.sh
. "$(dirname "$0")/lint.sh"
bad=0
mapfile -t all < <(files '\.(c|h|cu|cuh|f90|py|sh|sbatch|cmake|in|md)$|(^|/)CMakeLists\.txt$' |
    grep -vE '^(CHANGELOG\.md|docs/reference/glossary\.md|bench/results/.*)$' |
    grep -vE '^tests/lint/(check_words|selftest)\.sh$')

# retired FOLDERS PATTERN INSTEAD: refuse an extended regular expression in the files whose path
# matches FOLDERS.
retired() {
    local found
    found=$(printf '%s\n' "${all[@]}" | grep -E "$1" | xargs -r -d '\n' grep -nHE "$2")
    if [ -n "$found" ]; then
        printf '%s\n' "$found" | sed "s/^/retired: /"
        echo "    instead of $2: $3"
        bad=1
    fi
}

# Words of the library.
retired . '\<[Yy]ardsticks?\>|_yardstick' 'baseline'
retired . '\<[Rr]ivals?\>|_rivals?\>' 'candidate'
retired . '\<([Hh]alo|[Ll]ocal) blocks?\>' 'diagonal and off-diagonal block'
retired . '\<[Jj]oined blocks?\>|[Bb]locksets?\>|BLOCKSET' 'merged block'
retired '^(src/(exchange|plan)|include|docs|python)/' '\<mirror(_rows| rows)' 'send rows'
retired . 'spmmi?_levels|\<[Tt]wo levels\>' 'node-aware exchange'
retired '^src/plan/' '_edge_t\>|plan->edge\>' 'conversion: of layouts and types'
retired '^src/' 'SPMM_MARK_|plan_(mark|note)\(' 'phase event'
retired . '[Hh]alo graph|make_graph\>|build_graph\>' 'halo plan'
retired . 'spmm_graphs|plan_(make|free|count|run)_graphs?\>' 'capture: executes kept as CUDA graphs'
retired . 'spmm_forms|SPMM_FORMS|_forms_here|(make|drop)_forms\>' 'blocks: merged, or two'
retired . 'sampler_form\>|SDDMM form|form of (a|the) mask' 'format of a mask'
retired '^(src/engine|bench)/' '_shapes?_t\>|_shapes?_at\>|(CVSE|BCSR|MOST)_SHAPES' \
    'variant: of how an engine does its work'
retired '^(src/engine|docs|bench)/.*(engine|formats|performance|README)' \
    'shapes? of (the )?(thread block|work)|(all|other|ten|the best of the) shapes' 'variant'
retired . 'plan_measures?\>' 'uses_trials: the predicate; collect_stats: the statistics'
retired . '(send|recv)_piece\>' 'bytes: pieces are the work of a kernel'
retired . 'nccl[-_]pull|pull_(space|share)' 'nccl-push'
retired . 'alloc_shared' 'spmm_buffer_alloc'
retired . '\<[Nn]on-?zeros\>' 'entries, zeros that are stored among them'

retired '^(partition|src/(matrix|exchange|plan|engine))/' \
    'MPI_I?(allreduce|Allreduce|Bcast|Exscan|Allgather|Alltoall|Barrier)\(' \
    'spmmi_allreduce() and so on of base/env.h, which end where a rank is lost'

# What is gone: documents, help texts and headers do not name it.  The one link is to the example
# column_groups.c; bench/report.py reads a result by the name that it has there.
mapfile -t naming < <(printf '%s\n' "${all[@]}" |
    grep -E '\.(md|h|cuh|f90|in|cmake)$|(^|/)CMakeLists\.txt$|^(tools|bench|python|interfaces)/' |
    grep -vE '^(tests|examples)/|^docs/explanation/tried\.md$|^bench/report\.py$')
gone() {
    local all=("${naming[@]}")
    retired . "$1" "$2"
}
gone 'column_groups($|[^.]|\.[^c])|--column-groups' 'MPI_Comm_split(), examples/column_groups.c'
gone 'use_fewer_ranks' 'partition "one"'
gone 'cusparse-bell' 'Blocked-ELL of cuSPARSE: bell-2 to bell-32 of bench_published'
gone 'merged2|halo-first' 'schedules overlap and merged, chunks'
gone 'reorder=rcm' 'orders none, affinity and sorted'
gone '[-]-cover\>|option cover|[a-z]\.cover\>|moved_nnz' 'rows of B travel, or sums with op T'
gone '(^|[^-a-z])--(reorder|levels|schedule|chunks|objective|no-autotune|list-schedules)\>' \
    'option --tuning'
gone 'no_autotune|spmm_schedule_info' 'keys of option tuning'
gone 'binsparse' 'other formats of files, docs/reference/files.md'

# Words of a notebook.
documents='\.md$'
retired '\.(c|h|cu|cuh|f90|sh|sbatch|cmake|md)$' \
    "\<([Tt]oday|[Yy]esterday|[Ff]ormerly|[Pp]reviously)\>|\<used to be\>" 'what is, or nothing'
retired . '\<as it was\>|\<not any ?more\>|\<[Uu]ntil now\>|\<[Ff]or now\>' 'what is'
retired "$documents" '\<[Nn]o longer\>( [^t]|$)|\<no longer t[^h]|\<(have|has) gone since\>' \
    'what is'
retired "$documents" '(^|[.:;] )(Now|Before), |\<[Aa]n? earlier (version|order|kernel)' \
    'what is'
exit $bad
