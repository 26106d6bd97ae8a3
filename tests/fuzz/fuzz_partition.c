/* SPDX-License-Identifier: Apache-2.0 */
/* Partition files for a matrix of nine rows, plain or gzipped, in an environment that says it has
 * four ranks: the parts of a good file are 0 to 3. */
#include "fuzz.h"

#include "matrix/csr.h"
#include "partition/partitioners.h"

enum { ROWS = 9, RANKS = 4 };

/* Is this text a number 0 .. 3 on each of nine lines, and blank lines after them? */
static int is_good(const uint8_t *data, size_t size)
{
    size_t at = 0;

    for (int line = 0; line < ROWS; line++) {
        if (at + 1 > size || data[at] < '0' || data[at] > '3') {
            return 0;
        }
        at++;
        if (at < size && data[at++] != '\n') {
            return 0;
        }
    }
    return at == size;
}

void spmm_fuzz_one(const uint8_t *data, size_t size)
{
    int64_t                  offset[] = {0, ROWS, ROWS, ROWS, ROWS};
    spmm_matrix_t            A        = {.env        = &spmm_fuzz_env,
                                         .rows       = ROWS,
                                         .cols       = ROWS,
                                         .n_rows     = ROWS,
                                         .n_cols     = ROWS,
                                         .row_offset = offset,
                                         .col_offset = offset};
    spmm_partition_options_t options  = {.argument = spmm_fuzz_file(data, size)};
    spmm_partition_t         parts    = {0};
    spmm_status_t            status;

    spmm_fuzz_env.size = RANKS;
    status             = spmmi_partitioner_file.run(&A, &options, &parts);
    spmm_fuzz_env.size = 1;
    spmm_fuzz_status(status, spmm_fuzz_env.err.text);
    if (status == SPMM_OK) {
        for (int i = 0; i < ROWS; i++) {
            spmm_fuzz_check(parts.row_part[i] >= 0 && parts.row_part[i] < RANKS, "parts are ranks");
        }
    }
    spmm_fuzz_check(!is_good(data, size) || status == SPMM_OK || status == SPMM_ERR_MEMORY,
                    "a good file is read");
    spmmi_partition_free(&parts);
}
