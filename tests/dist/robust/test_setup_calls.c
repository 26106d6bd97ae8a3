/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 4 16 */
/** @file test_setup_calls.c  What set-up asks of MPI: collectives, whose number does not grow with
 *  ranks or entries, and messages to those alone who get something.  The calls of the library come
 *  by here. */
#include "test_main.h"

#include "matrix/assemble.h"
#include "spmm_dist/spmm_dist.h"

static int     collectives, alltoalls, messages;
static int64_t sent;

/* An all-to-all is counted as a collective, too. */
#define COUNTED(counter, name, parameters, arguments)                                              \
    int name parameters                                                                            \
    {                                                                                              \
        (counter)++;                                                                               \
        collectives += &(counter) != &collectives;                                                 \
        return P##name arguments;                                                                  \
    }
COUNTED(collectives, MPI_Barrier, (MPI_Comm c), (c))
COUNTED(collectives, MPI_Ibarrier, (MPI_Comm c, MPI_Request *r), (c, r))
COUNTED(collectives, MPI_Bcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c),
        (b, n, t, root, c))
COUNTED(collectives, MPI_Allreduce,
        (const void *s, void *b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, b, n, t, o, c))
COUNTED(collectives, MPI_Iallreduce,
        (const void *s, void *b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c, MPI_Request *r),
        (s, b, n, t, o, c, r))
COUNTED(collectives, MPI_Exscan,
        (const void *s, void *b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, b, n, t, o, c))
COUNTED(collectives, MPI_Allgather,
        (const void *s, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm c),
        (s, n, t, b, m, u, c))
COUNTED(alltoalls, MPI_Alltoall,
        (const void *s, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm c),
        (s, n, t, b, m, u, c))
COUNTED(alltoalls, MPI_Ialltoall,
        (const void *s, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm c,
         MPI_Request *r),
        (s, n, t, b, m, u, c, r))

int MPI_Isend(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r)
{
    int size;

    PMPI_Type_size(t, &size);
    messages++;
    sent += (int64_t)n * size;
    return PMPI_Isend(b, n, t, to, tag, c, r);
}

static void count_from_here(void)
{
    collectives = alltoalls = messages = 0;
    sent                               = 0;
}

/* The largest number of the ranks. */
static int most(int mine)
{
    int all;

    PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, spmm_test_env.comm);
    return all;
}

enum { ENTRIES = 1 << 18, PER_ROW = 4 };

/* Row of entry @p k of all: as they are owned, in reverse, at random. */
static int64_t row_of(int order, int64_t k, int64_t rows)
{
    return order == 0   ? k / PER_ROW
           : order == 1 ? rows - 1 - k / PER_ROW
                        : spmmi_below(spmmi_hash2(7, k, 1), rows);
}

static spmm_matrix_t *assemble(int order)
{
    const int64_t  all = (int64_t)ENTRIES * spmm_test_env.size, rows = all / PER_ROW;
    spmm_entries_t list = {.count = ENTRIES, .capacity = ENTRIES};
    spmm_matrix_t *A    = NULL;

    assert_non_null(SPMM_NEW(list.entry, ENTRIES));
    for (int64_t k = 0; k < ENTRIES; k++) {
        const int64_t at = (int64_t)spmm_test_env.rank * ENTRIES + k;

        list.entry[k] = (spmm_entry_t){
            .row = row_of(order, at, rows), .col = at % PER_ROW, .value = 1.0 + (double)(at % 9)};
    }
    count_from_here();
    spmm_assert_ok(
        spmmi_assemble(&spmm_test_env, rows, rows, &list, SPMM_DUPLICATES_SUM, 0, SPMM_R_64F, &A));
    return A;
}

/* Entries travel to the owners of their rows: one all-to-all of numbers, whatever their order, and
 * messages of up to 1.5 MiB between ranks that share entries. */
static void test_entries(void **state)
{
    for (int order = 0; order < 3; order++) {
        const int      peers = order == 0 ? 2 : spmm_test_env.size - 1;
        spmm_matrix_t *A;

        spmm_test_env.timeout_s = order == 0 ? 0.0 : 20.0; /* entries are not a sign to give up */
        A                       = assemble(order);

        assert_true(most(alltoalls) == 1);
        assert_true(most(collectives) <= 12);
        assert_true(most(messages) <= peers + ENTRIES / 65536);
        assert_true(sent <= (int64_t)ENTRIES * (int64_t)sizeof(spmm_entry_t));
        if (order < 2) { /* each entry has a place of its own, and its value */
            assert_true(spmmi_matrix_local_nnz(A) == (int64_t)A->n_rows * PER_ROW);
            for (int64_t k = 0; k < spmmi_matrix_local_nnz(A); k++) {
                const int64_t i  = A->row_offset[spmm_test_env.rank] + k / PER_ROW;
                const int64_t at = (order == 0 ? i : A->rows - 1 - i) * PER_ROW + k % PER_ROW;

                assert_true(A->col_idx[k] == k % PER_ROW);
                assert_true(((const double *)A->values)[k] == 1.0 + (double)(at % 9));
            }
        }
        spmmi_matrix_free(A);
    }
    spmm_test_env.timeout_s = 0.0;
}

/* More messages than may be on their way at a time, and parts of them. */
static void test_windows(void **state)
{
    spmm_test_env.message_limit = 2048;
    for (int order = 1; order < 3; order++) {
        spmm_matrix_t *A   = assemble(order);
        double         sum = 0.0, want = 0.0;

        assert_true(most(messages) > 1024);
        for (int64_t k = 0; k < spmmi_matrix_local_nnz(A); k++) {
            sum += ((const double *)A->values)[k];
        }
        for (int64_t k = 0; k < ENTRIES; k++) {
            want += 1.0 + (double)(((int64_t)spmm_test_env.rank * ENTRIES + k) % 9);
        }
        PMPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, spmm_test_env.comm);
        PMPI_Allreduce(MPI_IN_PLACE, &want, 1, MPI_DOUBLE, MPI_SUM, spmm_test_env.comm);
        assert_true(sum == want);
        spmmi_matrix_free(A);
    }
    spmm_test_env.message_limit = 0;
}

/* A file of own rows and a plan that keeps them: as many collectives on any number of ranks. */
static void test_plan(void **state)
{
    char            path[64];
    spmm_context_t *ctx  = NULL;
    spmm_matrix_t  *A    = NULL;
    spmm_plan_t    *plan = NULL;

    (void)snprintf(path, sizeof path, "/tmp/spmm_calls_%d.csr", spmm_test_env.size);
    spmm_assert_ok(spmm_context_create(spmm_test_env.comm, NULL, &ctx));
    spmm_assert_ok(spmm_matrix_generate(ctx, "stencil9:nx=60,ny=60", SPMM_R_64F, 0, &A));
    spmm_assert_ok(spmm_matrix_write(A, path, NULL));
    spmm_matrix_destroy(&A);
    count_from_here();
    spmm_assert_ok(spmm_matrix_read(ctx, path, SPMM_R_64F, 0, &A));
    spmm_assert_ok(spmm_plan_create(A, 16, NULL, &plan));
    assert_true(most(collectives) <= 90);
    spmm_plan_destroy(&plan);
    spmm_matrix_destroy(&A);
    spmm_context_destroy(&ctx);
    PMPI_Barrier(spmm_test_env.comm);
    if (spmm_test_env.rank == 0) {
        assert_int_equal(remove(path), 0);
    }
}

SPMM_TESTS(test_entries, test_windows, test_plan);
