/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 TIMEOUT 240 */
/** @file test_mixed.c
 *  Options at random, most of them at once: a plan is refused on all ranks alike with a sentence,
 *  or its products are right, before and after new values of the matrix and of the plan.
 *
 *  SPMM_TEST_CASES plans instead of 200, SPMM_TEST_FIRST the number of the first: what fails names
 *  its number.
 */
#include "reference.h"
#include "test_context.h"

enum { MOST = 40, MOST_N = 9, PAD = 2, LD = MOST + MOST_N + PAD };

/** One plan, drawn alike on all ranks. */
typedef struct {
    int64_t             number;
    uint64_t            drawn, values; /**< so many draws; seed of the entries of A */
    int64_t             rows, cols, n;
    spmm_type_t         type, b_type, c_type;
    spmm_plan_options_t o;
    double              bound;

    spmm_context_t *ctx;
    spmm_matrix_t  *A;
    spmm_plan_t    *plan;
    void           *entry; /**< values of this rank's rows */
} mixed_t;

static int64_t draw(mixed_t *m, int64_t below)
{
    return (int64_t)(spmmi_hash2((uint64_t)m->number, (int64_t)m->drawn++, 29) % (uint64_t)below);
}

/* One of the names, more often none. */
#define NAME(m, ...) name_of((m), (const char *const[]){__VA_ARGS__, NULL})

static const char *name_of(mixed_t *m, const char *const *name)
{
    int count = 0;

    while (name[count] != NULL) {
        count++;
    }
    return draw(m, 3) > 0 ? NULL : name[draw(m, count)];
}

static double complex entry_of(const mixed_t *m, int64_t i, int64_t j)
{
    return spmmi_hash2(7, i, j) % 3 == 0 ? reference_element(m->values, i, j, m->type) : 0.0;
}

static void draw_options(mixed_t *m)
{
    static const spmm_type_t halo[] = {SPMM_R_16F, SPMM_R_32F};
    spmm_plan_options_t     *o      = &m->o;

    *o        = (spmm_plan_options_t)SPMM_PLAN_OPTIONS_INIT;
    o->op     = (spmm_op_t)draw(m, 3);
    o->layout = draw(m, 2) == 0 ? SPMM_LAYOUT_ROW : SPMM_LAYOUT_COL;
    if (spmm_type_size(m->type) == 2 && draw(m, 2) == 0) {
        o->c_type = m->c_type = SPMM_R_32F;
    } else if ((m->type == SPMM_R_64F || m->type == SPMM_R_32F) && draw(m, 6) == 0) {
        o->b_type = m->type == SPMM_R_64F ? SPMM_C_64F : SPMM_C_32F;
        m->b_type = m->c_type = o->b_type;
    }
    o->partition = NAME(m, "block", "metis", "auto", "one", "ptscotch");
    o->engine    = NAME(m, "csr-cpu", "bittcf", "hrpb", "dmma", "cvse", "bcsr");
    o->reorder   = NAME(m, "affinity", "tiles", "rcm", "metis");
    o->schedule =
        NAME(m, "chunks2", "chunks4", "merged", "merged2", "halo-first", "allgather", "overlap");
    o->levels          = NAME(m, "node", "flat");
    o->cover           = NAME(m, "both", "rows");
    o->balance         = NAME(m, "time", "measured", "entries");
    o->tune            = NAME(m, "before", "none");
    o->halo_type       = draw(m, 6) > 0 ? SPMM_TYPE_AUTO : halo[draw(m, 2)];
    o->column_groups   = draw(m, 3) == 0 ? (int)draw(m, 4) - 1 : 0;
    o->deterministic   = draw(m, 6) == 0;
    o->reproducible    = draw(m, 6) == 0;
    o->exact_nonfinite = draw(m, 6) == 0;
    o->profile         = draw(m, 6) == 0;
    o->use_fewer_ranks = draw(m, 6) == 0;
    o->executes        = draw(m, 2) == 0 ? 0 : 1000000;
}

static void draw_case(mixed_t *m)
{
    static const spmm_type_t type[] = {SPMM_R_64F, SPMM_R_32F, SPMM_R_16F,
                                       SPMM_C_64F, SPMM_C_32F, SPMM_R_16BF};

    m->rows = m->cols = 1 + draw(m, MOST);
    if (draw(m, 2) == 0) {
        m->cols = 1 + draw(m, MOST);
    }
    m->n    = 1 + draw(m, MOST_N);
    m->type = m->b_type = m->c_type = type[draw(m, 6)];
    draw_options(m);
    m->bound = reference_bound(m->type);
    if (m->o.halo_type != SPMM_TYPE_AUTO) {
        m->bound += m->o.halo_type == SPMM_R_32F ? 0x1p-24 : 0x1p-11;
    }
}

/* One status on all ranks; what is no refusal is a failure of the test. */
static bool agreed(const mixed_t *m, spmm_status_t status)
{
    int low = (int)status, high = (int)status;

    MPI_Allreduce(MPI_IN_PLACE, &low, 1, MPI_INT, MPI_MIN, spmm_test_env.comm);
    MPI_Allreduce(MPI_IN_PLACE, &high, 1, MPI_INT, MPI_MAX, spmm_test_env.comm);
    if (low != high || (status != SPMM_OK && status != SPMM_ERR_ARGUMENT &&
                        status != SPMM_ERR_UNSUPPORTED && status != SPMM_ERR_RANGE)) {
        fail_msg("plan %lld: status %d, %d to %d on all ranks: %s", (long long)m->number,
                 (int)status, low, high, spmm_last_error(m->ctx));
    }
    assert_true(status == SPMM_OK || spmm_last_error(m->ctx)[0] != '\0');
    return status == SPMM_OK;
}

/* The entries of this rank's rows by their values alone, or with their pattern. */
static int64_t list_entries(mixed_t *m, int64_t first, int64_t count, int64_t *ptr, int64_t *col)
{
    int64_t nnz = 0;

    ptr[0] = 0;
    for (int64_t i = 0; i < count; i++) {
        for (int64_t j = 0; j < m->cols; j++) {
            if (spmmi_hash2(7, first + i, j) % 3 == 0) {
                col[nnz] = j;
                reference_set(m->type, m->entry, nnz++, entry_of(m, first + i, j));
            }
        }
        ptr[i + 1] = nnz;
    }
    return nnz;
}

static void make_matrix(mixed_t *m)
{
    spmm_context_options_t o = SPMM_CONTEXT_OPTIONS_INIT;
    int64_t                first, count, unused, n_cols, ptr[MOST + 1], col[MOST * MOST];

    o.device         = SPMM_DEVICE_CPU;
    o.ranks_per_node = (int)draw(m, 3);
    o.check          = (int)draw(m, 2);
    m->values        = 3;
    m->entry         = spmm_test_calloc((size_t)MOST * MOST, sizeof(double complex));
    spmm_assert_ok(spmm_context_create(spmm_test_env.comm, &o, &m->ctx));
    reference_part(m->rows, &first, &count);
    reference_part(m->cols, &unused, &n_cols);
    (void)list_entries(m, first, count, ptr, col);
    spmm_assert_ok(
        spmm_matrix_create_csr(m->ctx, count, n_cols, ptr, col, m->entry, m->type, &m->A));
}

/* Of op(A). */
static double complex factor_of(const mixed_t *m, int64_t i, int64_t k)
{
    return m->o.op == SPMM_OP_N   ? entry_of(m, i, k)
           : m->o.op == SPMM_OP_T ? entry_of(m, k, i)
                                  : conj(entry_of(m, k, i));
}

static void add(reference_t part[2], double complex term)
{
    part[0].sum += creal(term);
    part[1].sum += cimag(term);
    part[0].size = part[1].size += cabs(term);
}

static void check(const mixed_t *m, const void *C, int64_t first, int64_t count, double beta)
{
    const int64_t inner = m->o.op == SPMM_OP_N ? m->cols : m->rows;

    for (int64_t i = 0; i < count; i++) {
        for (int64_t j = 0; j < m->n; j++) {
            const double complex got =
                reference_get(m->c_type, C, reference_place(m->o.layout, LD, i, j));
            reference_t part[2] = {{0}};

            for (int64_t k = 0; k < inner; k++) {
                add(part,
                    1.5 * factor_of(m, first + i, k) * reference_element(11, k, j, m->b_type));
            }
            add(part, beta * reference_element(13, first + i, j, m->c_type));
            if (!reference_near(&part[0], creal(got), m->bound, 0.0) ||
                !reference_near(&part[1], cimag(got), m->bound, 0.0)) {
                fail_msg("plan %lld: OK and a wrong C(%lld, %lld) on rank %d: %g for %g",
                         (long long)m->number, (long long)(first + i), (long long)j,
                         spmm_test_env.rank, creal(got), part[0].sum);
            }
        }
    }
}

static void fill(const mixed_t *m, uint64_t seed, spmm_type_t type, void *X, int64_t first,
                 int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        for (int64_t j = 0; j < m->n; j++) {
            reference_set(type, X, reference_place(m->o.layout, LD, i, j),
                          reference_element(seed, first + i, j, type));
        }
    }
}

/* The layout of an operand, whose rows in the caller's distribution are those of A's @p rows. */
static spmm_layout_info_t layout_of(const mixed_t *m, spmm_operand_t operand, int64_t rows)
{
    spmm_layout_info_t info = {.struct_size = sizeof info};
    int64_t            first, count;

    reference_part(rows, &first, &count);
    spmm_assert_ok(spmm_plan_get_layout(m->plan, operand, &info));
    assert_int_equal(info.original_first, first);
    assert_int_equal(info.original_rows, count);
    return info;
}

/* B and C from the caller's rows to the plan's, the product, and C back. */
static void multiply(mixed_t *m, double beta)
{
    const bool               as_is = m->o.op == SPMM_OP_N;
    const spmm_layout_info_t b     = layout_of(m, SPMM_OPERAND_B, as_is ? m->cols : m->rows);
    const spmm_layout_info_t c     = layout_of(m, SPMM_OPERAND_C, as_is ? m->rows : m->cols);
    const size_t             size  = (size_t)LD * LD;
    void                    *X[4];

    for (int k = 0; k < 4; k++) {
        X[k] = spmm_test_calloc(size, sizeof(double complex));
        memset(X[k], k < 2 ? 0 : 0xff, size * sizeof(double complex)); /* NaN in all types */
    }
    fill(m, 11, m->b_type, X[0], b.original_first, b.original_rows);
    fill(m, 13, m->c_type, X[1], c.original_first, c.original_rows);
    spmm_assert_ok(spmm_plan_scatter(m->plan, SPMM_OPERAND_B, m->n, X[0], LD, X[2], LD, NULL));
    if (beta != 0.0) {
        spmm_assert_ok(spmm_plan_scatter(m->plan, SPMM_OPERAND_C, m->n, X[1], LD, X[3], LD, NULL));
    }
    spmm_assert_ok(spmm_execute(m->plan, m->o.column_groups == 0 ? m->n : b.columns, 1.5, X[2], LD,
                                beta, X[3], LD, NULL));
    spmm_assert_ok(spmm_plan_gather(m->plan, SPMM_OPERAND_C, m->n, X[3], LD, X[1], LD, NULL));
    check(m, X[1], c.original_first, c.original_rows, beta);
    spmm_test_free(X[0], X[1], X[2], X[3]);
}

/* Other values of the same entries. */
static void draw_values(mixed_t *m)
{
    int64_t first, count, ptr[MOST + 1], col[MOST * MOST];

    m->values++;
    reference_part(m->rows, &first, &count);
    (void)list_entries(m, first, count, ptr, col);
}

/* Was it made? */
static bool run(mixed_t *m)
{
    bool made;

    draw_case(m);
    make_matrix(m);
    made = agreed(m, spmm_plan_create(m->A, m->n, &m->o, &m->plan));
    if (made) {
        multiply(m, 0.0);
        multiply(m, -0.5);
        draw_values(m);
        spmm_assert_ok(spmm_matrix_update_values(m->A, m->entry));
        m->n = m->o.column_groups == 0 ? 1 + draw(m, m->n) : m->n;
        multiply(m, draw(m, 2) == 0 ? 0.0 : 0.25);
        draw_values(m);
        if (agreed(m, spmm_plan_update_values(m->plan, m->entry, NULL))) {
            multiply(m, 0.0);
        }
    }
    test_context_destroy(&m->plan, &m->A, &m->ctx);
    free(m->entry);
    return made;
}

static void test_plans(void **state)
{
    const int64_t first = spmm_test_number("SPMM_TEST_FIRST", 0);
    const int64_t count = spmm_test_number("SPMM_TEST_CASES", 200);
    int64_t       made  = 0;

    for (int64_t k = first; k < first + count; k++) {
        mixed_t m = {.number = k};

        made += run(&m) ? 1 : 0;
    }
    assert_true(made > count / 5); /* of few is asked what cannot be */
}

SPMM_TESTS(test_plans);
