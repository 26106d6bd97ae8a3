/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 2 3 */
/** @file test_copies.c
 *  Ranks that see different files at one path, as stale copies on the nodes of a cluster: each rank
 *  works in a folder of its own.
 */
#define _XOPEN_SOURCE 700 /* mkdtemp() */
#include "test_context.h"

#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

static const char name[] = "copy.matrix";

/* A diagonal whose values depend on @p seed: of 20 bytes a line. */
static void write_text(FILE *file, int64_t rows, uint64_t seed)
{
    (void)fprintf(file, "%%%%MatrixMarket matrix coordinate real general\n");
    (void)fprintf(file, "%8" PRId64 " %8" PRId64 " %8" PRId64 "\n", rows, rows, rows);
    for (int64_t i = 1; i <= rows; i++) {
        (void)fprintf(file, "%8" PRId64 " %8" PRId64 " %d\n", i, i,
                      1 + (int)(spmmi_hash2(seed, i, i) % 9));
    }
}

/* Leave a pipe at the place of the file. */
static void write_pipe(FILE *file, int64_t rows, uint64_t seed)
{
    assert_int_equal(remove(name), 0);
    assert_int_equal(mkfifo(name, 0600), 0);
}

/* Binary CSR: one entry a row, in column @p column. */
static void write_binary(FILE *file, int64_t rows, uint64_t column)
{
    const int64_t head[] = {0x43535231, rows, rows, rows};

    (void)fwrite(head, sizeof head, 1, file);
    for (int32_t i = 0; i <= rows; i++) {
        (void)fwrite(&i, sizeof i, 1, file);
    }
    for (int32_t i = 0; i < rows; i++) {
        const int32_t col = (int32_t)column;

        (void)fwrite(&col, sizeof col, 1, file);
    }
}

static spmm_status_t read_copy(void (*write)(FILE *file, int64_t rows, uint64_t seed), int64_t rows,
                               uint64_t seed, char sentence[512])
{
    spmm_context_t *ctx;
    spmm_matrix_t  *A = NULL;
    FILE           *file;
    char            folder[] = "/tmp/spmm_copy_XXXXXX";
    spmm_status_t   status;

    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    file = fopen(name, "wb");
    assert_non_null(file);
    write(file, rows, seed);
    assert_int_equal(fclose(file), 0);
    test_context_open(&ctx);
    status = spmm_matrix_read(ctx, name, SPMM_R_64F, 1, &A);
    (void)snprintf(sentence, 512, "%s", spmm_last_error(ctx));
    test_context_destroy(NULL, &A, &ctx);
    assert_int_equal(remove(name), 0);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(folder), 0);
    return status;
}

/* The last rank's copy has @p rows and @p seed of its own; all hear of it. */
static void expect_refusal(void (*write)(FILE *file, int64_t rows, uint64_t seed), int64_t rows,
                           int64_t last_rows, uint64_t last_seed, const char *sizes)
{
    char host[MPI_MAX_PROCESSOR_NAME] = "", sentence[512];
    int  length                       = 0;

    MPI_Get_processor_name(host, &length);
    assert_int_equal(read_copy(write, spmm_test_is_last() ? last_rows : rows,
                               spmm_test_is_last() ? last_seed : 1, sentence),
                     SPMM_ERR_IO);
    if (strstr(sentence, "not the same file") == NULL || strstr(sentence, host) == NULL ||
        strstr(sentence, sizes) == NULL) {
        fail_msg("%s", sentence);
    }
}

static void test_one_content(void **state)
{
    char sentence[512];

    spmm_assert_ok(read_copy(write_text, 100, 1, sentence));
    spmm_assert_ok(read_copy(write_text, 400000, 1, sentence));
    spmm_assert_ok(read_copy(write_binary, 100, 1, sentence));
}

/* A rank that finds a pipe there does not wait for its writer. */
static void test_pipe_of_one_rank(void **state)
{
    char sentence[512];

    assert_int_equal(read_copy(spmm_test_is_last() ? write_pipe : write_text, 100, 1, sentence),
                     SPMM_ERR_IO);
    assert_non_null(strstr(sentence, ": it is a device, pipe or socket"));
}

static void test_others(void **state)
{
    expect_refusal(write_text, 100, 101, 1, "2093 bytes");
    expect_refusal(write_binary, 100, 99, 1, "828 bytes");
    expect_refusal(write_text, 100, 100, 2, "other 2073 bytes");
    expect_refusal(write_binary, 100, 100, 2, "other 836 bytes");
    expect_refusal(write_text, 400000, 400000, 2, "other 8000073 bytes"); /* by samples */
}

SPMM_TESTS(test_one_content, test_pipe_of_one_rank, test_others);
