/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 TIMEOUT 240 */
/* test: RANKS 1 2 DEVICE cuda TIMEOUT 240 */
/** @file test_mixed.c
 *  Options at random, most of them at once: a plan is refused on all ranks alike with a sentence,
 *  or its products are right, while it finds its engines by use and after it, before and after new
 *  values of the matrix and of the plan, and write nothing beside C.
 *
 *  SPMM_TEST_CASES plans instead of 150, SPMM_TEST_FIRST the number of the first: what fails names
 *  its number.  SPMM_TEST_DEVICE=cuda: on GPUs, with larger matrices.
 */
#include "reference.h"
#include "test_context.h"

/** Rows or columns of A, columns of B, what ld has more, elements that a block begins late. */
enum { MOST = 200, MOST_CPU = 40, MOST_N = 70, MOST_N_CPU = 9, PADS = 4, SHIFTS = 4 };
enum { AREA = (MOST + PADS) * (MOST + PADS) + SHIFTS };

/** Blocks in device memory, of the caller's distribution and of the plan's. */
enum { CALLERS_B, CALLERS_C, PLANS_B, PLANS_C, N_BLOCKS };

/** One plan, drawn alike on all ranks. */
typedef struct {
    int64_t             number;
    uint64_t            drawn, values; /**< so many draws; seed of the entries of A */
    uint64_t            one_in;        /**< places of A, of which one has an entry */
    int64_t             rows, cols, n, ld;
    int64_t             shift; /**< elements that each block of the plan begins late */
    spmm_type_t         type, b_type, c_type;
    spmm_plan_options_t o;
    char                tuning[100]; /**< what o.tuning is */
    double              bound;

    spmm_context_t *ctx;
    spmm_matrix_t  *A;
    spmm_plan_t    *plan;
    void           *entry;           /**< values of this rank's rows */
    int64_t        *ptr, *col;       /**< their pattern */
    void           *block[N_BLOCKS]; /**< each of AREA elements; kept with the plan, whose graphs
                                          may know them */
    void           *host;            /**< the same on the host */
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

static bool has_entry(const mixed_t *m, int64_t i, int64_t j)
{
    return spmmi_hash2(7, i, j) % m->one_in == 0;
}

static double complex entry_of(const mixed_t *m, int64_t i, int64_t j)
{
    return has_entry(m, i, j) ? reference_element(m->values, i, j, m->type) : 0.0;
}

static void draw_on_gpu(mixed_t *m)
{
    spmm_plan_options_t *o = &m->o;

    o->engine = NAME(m, "csr-gpu", "cusparse", "strips", "bittcf", "hrpb", "dmma", "cvse", "bcsr",
                     "bcsr-sp24", "dense");
    o->transport = NAME(m, "nccl", "nccl-push", "mpi-host");
    o->graph     = draw(m, 6) == 0;
    if ((m->type == SPMM_R_32F || m->type == SPMM_C_32F) && draw(m, 3) == 0) {
        o->compute = SPMM_COMPUTE_32F_FAST_TF32;
        m->bound   = 2e-3;
    }
}

static void draw_tuning(mixed_t *m)
{
    const char *const key[]   = {"order", "schedule", "chunks", "exchange", "measure"};
    const char *const value[] = {NAME(m, "affinity", "sorted"), NAME(m, "merged", "overlap"),
                                 NAME(m, "1", "2", "4"), NAME(m, "node", "flat"), NAME(m, "no")};
    size_t            used    = 0;

    for (size_t k = 0; k < sizeof key / sizeof key[0]; k++) {
        used += (size_t)snprintf(m->tuning + used, sizeof m->tuning - used, "%s%s=%s",
                                 k > 0 ? "," : "", key[k], value[k] == NULL ? "auto" : value[k]);
    }
    m->o.tuning = m->tuning;
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
    draw_tuning(m);
    o->halo_type       = draw(m, 6) > 0 ? SPMM_TYPE_AUTO : halo[draw(m, 2)];
    o->deterministic   = draw(m, 6) == 0;
    o->reproducible    = draw(m, 6) == 0;
    o->exact_nonfinite = draw(m, 6) == 0;
    o->profile         = draw(m, 6) == 0;
    o->executes        = draw(m, 2) == 0 ? 0 : 1000000;
}

static void draw_case(mixed_t *m)
{
    static const spmm_type_t type[]   = {SPMM_R_64F, SPMM_R_32F, SPMM_R_16F,
                                         SPMM_C_64F, SPMM_C_32F, SPMM_R_16BF};
    static const uint64_t    one_in[] = {2, 3, 12, 60};
    const bool               on_gpu   = spmm_test_on_gpu();
    const int64_t            most     = on_gpu ? MOST : MOST_CPU;

    m->rows = m->cols = 1 + draw(m, most);
    if (draw(m, 2) == 0) {
        m->cols = 1 + draw(m, most);
    }
    m->one_in = one_in[draw(m, 4)];
    m->n      = 1 + draw(m, on_gpu ? MOST_N : MOST_N_CPU);
    m->ld     = most + draw(m, PADS);
    m->shift  = draw(m, 2) == 0 ? 0 : draw(m, SHIFTS);
    m->type = m->b_type = m->c_type = type[draw(m, 6)];
    draw_options(m);
    m->bound = reference_bound(m->type);
    if (on_gpu) {
        draw_on_gpu(m);
    }
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

/* Values of the entries of this rank's rows, and their pattern; the number of rows. */
static int64_t list_entries(mixed_t *m)
{
    int64_t first, count, nnz = 0;

    reference_part(m->rows, &first, &count);
    m->ptr[0] = 0;
    for (int64_t i = 0; i < count; i++) {
        for (int64_t j = 0; j < m->cols; j++) {
            if (has_entry(m, first + i, j)) {
                m->col[nnz] = j;
                reference_set(m->type, m->entry, nnz++, entry_of(m, first + i, j));
            }
        }
        m->ptr[i + 1] = nnz;
    }
    return count;
}

static void make_matrix(mixed_t *m)
{
    spmm_context_options_t o = SPMM_CONTEXT_OPTIONS_INIT;
    int64_t                unused, n_cols, n_rows;

    o.device         = spmm_test_on_gpu() ? SPMM_DEVICE_CUDA : SPMM_DEVICE_CPU;
    o.ranks_per_node = (int)draw(m, 3);
    o.check          = (int)draw(m, 2);
    m->values        = 3;
    m->entry         = spmm_test_calloc((size_t)MOST * MOST, sizeof(double complex));
    m->col           = spmm_test_calloc((size_t)MOST * MOST, sizeof *m->col);
    m->ptr           = spmm_test_calloc(MOST + 1, sizeof *m->ptr);
    m->host          = spmm_test_calloc(AREA, sizeof(double complex));
    spmm_assert_ok(spmm_context_create(spmm_test_env.comm, &o, &m->ctx));
    for (int k = 0; k < N_BLOCKS; k++) {
        spmm_assert_ok(spmm_buffer_alloc(m->ctx, AREA * sizeof(double complex), &m->block[k]));
    }
    reference_part(m->cols, &unused, &n_cols);
    n_rows = list_entries(m);
    spmm_assert_ok(
        spmm_matrix_create_csr(m->ctx, n_rows, n_cols, m->ptr, m->col, m->entry, m->type, &m->A));
}

static void release(mixed_t *m)
{
    spmm_assert_ok(spmm_plan_destroy(&m->plan));
    for (int k = 0; k < N_BLOCKS; k++) {
        spmm_assert_ok(spmm_buffer_free(m->ctx, &m->block[k]));
    }
    test_context_destroy(&m->plan, &m->A, &m->ctx);
    spmm_test_free(m->entry, m->col, m->ptr, m->host);
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

/* Row @p i of C in parts[n][2], of operands that the @p inner rows of @p B are. */
static void reference_row(const mixed_t *m, int64_t i, int64_t inner, const double complex *B,
                          double beta, reference_t (*part)[2])
{
    memset(part, 0, (size_t)m->n * sizeof *part);
    for (int64_t k = 0; k < inner; k++) {
        const double complex a = factor_of(m, i, k);

        for (int64_t j = 0; a != 0.0 && j < m->n; j++) {
            add(part[j], 1.5 * a * B[k * m->n + j]);
        }
    }
    for (int64_t j = 0; beta != 0.0 && j < m->n; j++) {
        add(part[j], beta * reference_element(13, i, j, m->c_type));
    }
}

/* C in the caller's distribution. */
static void check(const mixed_t *m, int64_t first, int64_t count, double beta)
{
    const int64_t   inner = m->o.op == SPMM_OP_N ? m->cols : m->rows;
    double complex *B     = spmm_test_calloc((size_t)(inner * m->n), sizeof *B);
    reference_t     part[MOST_N][2];

    for (int64_t k = 0; k < inner * m->n; k++) {
        B[k] = reference_element(11, k / m->n, k % m->n, m->b_type);
    }
    for (int64_t i = 0; i < count; i++) {
        reference_row(m, first + i, inner, B, beta, part);
        for (int64_t j = 0; j < m->n; j++) {
            const double complex got =
                reference_get(m->c_type, m->host, reference_place(m->o.layout, m->ld, i, j));

            if (!reference_near(&part[j][0], creal(got), m->bound, 0.0) ||
                !reference_near(&part[j][1], cimag(got), m->bound, 0.0)) {
                fail_msg("plan %lld: OK and a wrong C(%lld, %lld) on rank %d: %g for %g",
                         (long long)m->number, (long long)(first + i), (long long)j,
                         spmm_test_env.rank, creal(got), part[j][0].sum);
            }
        }
    }
    free(B);
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

/* Elements of a block from @p first on in the caller's distribution; all others, and all of a block
 * without rows, are NaN in every type. */
static void fill(const mixed_t *m, int block, uint64_t seed, spmm_type_t type, int64_t first,
                 int64_t count)
{
    const size_t bytes = AREA * sizeof(double complex);

    memset(m->host, 0xff, bytes);
    for (int64_t i = 0; i < count; i++) {
        for (int64_t j = 0; j < m->n; j++) {
            reference_set(type, m->host, reference_place(m->o.layout, m->ld, i, j),
                          reference_element(seed, first + i, j, type));
        }
    }
    spmm_assert_ok(spmm_buffer_copy(m->ctx, m->block[block], m->host, bytes));
}

static void *begin(const mixed_t *m, int block)
{
    const spmm_type_t type = block == PLANS_B ? m->b_type : m->c_type;

    return (char *)m->block[block] + (size_t)m->shift * spmm_type_size(type);
}

/* Beside its rows and columns the plan's C is as fill() left it. */
static void check_beside(const mixed_t *m, int64_t rows, int64_t columns)
{
    const size_t         size = spmm_type_size(m->c_type);
    const bool           row  = m->o.layout == SPMM_LAYOUT_ROW;
    const unsigned char *byte = m->host;

    spmm_assert_ok(
        spmm_buffer_copy(m->ctx, m->host, m->block[PLANS_C], AREA * sizeof(double complex)));
    for (int64_t k = 0; k < AREA; k++) {
        const int64_t major = (k - m->shift) / m->ld, minor = (k - m->shift) % m->ld;

        if (k < m->shift || major >= (row ? rows : columns) || minor >= (row ? columns : rows)) {
            for (size_t b = 0; b < size; b++) {
                if (byte[(size_t)k * size + b] != 0xff) {
                    fail_msg("plan %lld: rank %d wrote element %lld, outside C",
                             (long long)m->number, spmm_test_env.rank, (long long)k);
                }
            }
        }
    }
}

/* B and C from the caller's rows to the plan's, products into the same C, and C back. */
static void multiply(mixed_t *m, double beta, int products)
{
    const bool               as_is = m->o.op == SPMM_OP_N;
    const spmm_layout_info_t b     = layout_of(m, SPMM_OPERAND_B, as_is ? m->cols : m->rows);
    const spmm_layout_info_t c     = layout_of(m, SPMM_OPERAND_C, as_is ? m->rows : m->cols);
    const int64_t            n     = m->n;
    void *const B = begin(m, PLANS_B), *const C = begin(m, PLANS_C);

    fill(m, PLANS_B, 0, m->b_type, 0, 0);
    fill(m, PLANS_C, 0, m->c_type, 0, 0);
    fill(m, CALLERS_B, 11, m->b_type, b.original_first, b.original_rows);
    fill(m, CALLERS_C, 13, m->c_type, c.original_first, c.original_rows);
    spmm_assert_ok(spmm_plan_scatter(m->plan, SPMM_OPERAND_B, m->n, m->block[CALLERS_B], m->ld, B,
                                     m->ld, NULL));
    if (beta != 0.0) {
        spmm_assert_ok(spmm_plan_scatter(m->plan, SPMM_OPERAND_C, m->n, m->block[CALLERS_C], m->ld,
                                         C, m->ld, NULL));
    }
    for (int k = 0; k < products; k++) {
        spmm_assert_ok(spmm_execute(m->plan, n, 1.5, B, m->ld, beta, C, m->ld, NULL));
    }
    spmm_assert_ok(spmm_plan_gather(m->plan, SPMM_OPERAND_C, m->n, C, m->ld, m->block[CALLERS_C],
                                    m->ld, NULL));
    check_beside(m, c.local_rows, n);
    spmm_assert_ok(
        spmm_buffer_copy(m->ctx, m->host, m->block[CALLERS_C], AREA * sizeof(double complex)));
    check(m, c.original_first, c.original_rows, beta);
}

/* Other values of the same entries. */
static void draw_values(mixed_t *m)
{
    m->values++;
    (void)list_entries(m);
}

/* The same in memory of the device, which the plan's new values must lie in. */
static const void *values_on_device(const mixed_t *m)
{
    spmm_assert_ok(spmm_buffer_copy(m->ctx, m->block[CALLERS_B], m->entry,
                                    (size_t)MOST * MOST * sizeof(double complex)));
    return m->block[CALLERS_B];
}

/* Was it made? */
static bool run(mixed_t *m)
{
    bool made;

    draw_case(m);
    make_matrix(m);
    made = agreed(m, spmm_plan_create(m->A, m->n, &m->o, &m->plan));
    if (made) {
        multiply(m, 0.0, 1);
        multiply(m, -0.5, 1);
        multiply(m, 0.0, spmm_test_on_gpu() ? 20 : 2);
        draw_values(m);
        spmm_assert_ok(spmm_matrix_update_values(m->A, m->entry));
        m->n = 1 + draw(m, m->n);
        multiply(m, draw(m, 2) == 0 ? 0.0 : 0.25, 1);
        draw_values(m);
        if (agreed(m, spmm_plan_update_values(m->plan, values_on_device(m), NULL))) {
            multiply(m, 0.0, 1);
        }
    }
    release(m);
    return made;
}

static void test_plans(void **state)
{
    const int64_t first = spmm_test_number("SPMM_TEST_FIRST", 0);
    const int64_t count = spmm_test_number("SPMM_TEST_CASES", 150);
    int64_t       made  = 0;

    for (int64_t k = first; k < first + count; k++) {
        mixed_t m = {.number = k};

        made += run(&m) ? 1 : 0;
    }
    assert_true(made > count / 5); /* of few is asked what cannot be */
}

SPMM_TESTS(test_plans);
