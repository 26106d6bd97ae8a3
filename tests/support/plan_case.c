/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_case.h"

#include "plan_values.h"

spmm_context_t *ctx;
char            plan_case_name[64];

/** This rank's CSR rows, as a caller has them. */
typedef struct {
    int64_t *row_ptr, *col;
    void    *values;
    int64_t  rows, cols;
} caller_t;

/* This rank's part of @p n rows, or columns; where they are apart, all are on one rank. */
static void part_of(const product_t *p, int64_t n, int owner, int64_t *first, int64_t *count)
{
    if (!p->apart) {
        reference_part(n, first, count);
        return;
    }
    *first = spmm_test_env.rank <= owner ? 0 : n;
    *count = spmm_test_env.rank == owner ? n : 0;
}

static caller_t make_caller(const shape_t *s, const product_t *p, uint64_t seed)
{
    caller_t c;
    int64_t  first, first_col, nnz = 0;

    part_of(p, s->rows, 0, &first, &c.rows);
    part_of(p, s->cols, spmm_test_env.size - 1, &first_col, &c.cols);
    c.row_ptr = spmm_test_calloc((size_t)c.rows + 1, sizeof *c.row_ptr);
    c.col     = spmm_test_calloc((size_t)(c.rows * s->cols) + 1, sizeof *c.col);
    c.values  = spmm_test_calloc((size_t)(c.rows * s->cols) + 1, sizeof(double complex));
    for (int64_t i = 0; i < c.rows; i++) {
        for (int64_t k = 0; k < s->cols; k++) {
            /* Odd rows come in descending order of columns. */
            const int64_t        j = (first + i) % 2 == 0 ? k : s->cols - 1 - k;
            const double complex x = plan_entry(s, p, seed, first + i, j);

            if (x != 0.0) {
                c.col[nnz] = j;
                reference_set(p->type, c.values, nnz++, x);
            }
        }
        c.row_ptr[i + 1] = nnz;
    }
    return c;
}

static void free_caller(caller_t *c)
{
    spmm_test_free(c->row_ptr, c->col, c->values);
}

static spmm_matrix_t *create(const caller_t *c, const product_t *p)
{
    spmm_matrix_t *A = NULL;

    if (!p->narrow) {
        spmm_assert_ok(spmm_matrix_create_csr(ctx, c->rows, c->cols, c->row_ptr, c->col, c->values,
                                              p->type, &A));
        return A;
    }

    const int64_t nnz     = c->row_ptr[c->rows];
    void         *row_ptr = to_device_narrow(c->row_ptr, c->rows + 1);
    void         *col     = to_device_narrow(c->col, nnz);
    void         *values  = to_device(c->values, (size_t)nnz * spmm_type_size(p->type));

    spmm_assert_ok(
        spmm_matrix_create_csr32(ctx, c->rows, c->cols, row_ptr, col, values, p->type, &A));
    test_context_free(ctx, &row_ptr, &col, &values);
    return A;
}

/** A dense block of this rank's rows, on the host and on the device.  What is not an element is
 *  0xff in every byte, a NaN of each type. */
typedef struct {
    spmm_type_t    type;
    int64_t        rows, first, ld;
    const int64_t *global; /**< of each row; NULL: first, first + 1, ... */
    size_t         bytes;
    void          *host, *base, *data; /**< data: element (0, 0) on the device */
} dense_t;

static int64_t global_row(const dense_t *d, int64_t i)
{
    return d->global == NULL ? d->first + i : d->global[i];
}

static int64_t place_of(const product_t *p, const dense_t *d, int64_t i, int64_t j)
{
    return p->shift + reference_place(p->o.layout, d->ld, i, j);
}

/* @p seed 0: of no elements.  @p planned: the plan's rows of the operand, else the caller's. */
static dense_t make_dense(const shape_t *s, const product_t *p, const spmm_layout_info_t *info,
                          bool planned, uint64_t seed, spmm_type_t type)
{
    const bool    by_rows = p->o.layout == SPMM_LAYOUT_ROW;
    dense_t       d       = {.type   = type,
                             .rows   = planned ? info->local_rows : info->original_rows,
                             .first  = info->original_first,
                             .global = planned ? info->global_row : NULL};
    const int64_t width   = by_rows ? p->n : d.rows;

    d.ld    = (width < 1 ? 1 : width) + p->pad;
    d.bytes = (size_t)(p->shift + d.ld * (by_rows ? d.rows : p->n)) * spmm_type_size(type);
    d.host  = spmm_test_malloc(d.bytes + 1);
    memset(d.host, 0xff, d.bytes);
    for (int64_t k = 0; k < d.rows * p->n && seed != 0; k++) {
        reference_set(type, d.host, place_of(p, &d, k / p->n, k % p->n),
                      plan_element(s, p, seed, global_row(&d, k / p->n), k % p->n));
    }
    d.base = to_device(d.host, d.bytes);
    d.data = (char *)d.base + (size_t)p->shift * spmm_type_size(type);
    return d;
}

static void free_dense(dense_t *d)
{
    spmm_assert_ok(spmm_buffer_free(ctx, &d->base));
    free(d->host);
}

/* Compare one block of C with the dense product. */
static void check_c(const shape_t *s, const product_t *p, uint64_t seed, const dense_t *c)
{
    const int64_t   inner = plan_inner(s, p);
    double complex *B     = spmm_test_malloc((size_t)(inner * p->n + 1) * sizeof *B);
    reference_t(*sum)[2]  = spmm_test_malloc((size_t)p->n * sizeof *sum);

    for (int64_t k = 0; k < inner * p->n; k++) {
        B[k] = plan_element(s, p, SEED_B, k / p->n, k % p->n);
    }
    for (int64_t i = 0; i < c->rows; i++) {
        const int64_t terms = plan_sum_row(s, p, seed, global_row(c, i), B, sum);

        for (int64_t j = 0; j < p->n; j++) {
            const double complex got = reference_get(c->type, c->host, place_of(p, c, i, j));

            if (!plan_is_near(p, &sum[j][0], creal(got), terms) ||
                !plan_is_near(p, &sum[j][1], cimag(got), terms)) {
                fail_msg(
                    "C(%lld, %lld) = %.17g, %.17g, expected %.17g, %.17g (A %lld x %lld, op %d "
                    "layout %d types %d %d compute %d values %d beta %g %s %s %s %s)",
                    (long long)global_row(c, i), (long long)j, creal(got), cimag(got),
                    sum[j][0].sum, sum[j][1].sum, (long long)s->rows, (long long)s->cols,
                    (int)p->o.op, (int)p->o.layout, (int)p->type, (int)c->type, (int)p->o.compute,
                    (int)p->values, creal(p->beta), p->o.engine, p->o.partition, p->o.tuning,
                    p->o.transport);
            }
        }
    }
    spmm_test_free(B, sum);
}

/* Beside its rows and columns C is as make_dense() left it. */
static void check_beside(const product_t *p, const dense_t *c)
{
    const size_t   size = spmm_type_size(c->type);
    const int64_t  n    = (int64_t)(c->bytes / size);
    bool          *mine = spmm_test_calloc((size_t)n + 1, sizeof *mine);
    unsigned char *byte = c->host;

    for (int64_t k = 0; k < c->rows * p->n; k++) {
        mine[place_of(p, c, k / p->n, k % p->n)] = true;
    }
    for (int64_t k = 0; k < n * (int64_t)size; k++) {
        if (!mine[k / (int64_t)size] && byte[k] != 0xff) {
            fail_msg("%s: rank %d wrote element %lld, outside C", plan_case_name,
                     spmm_test_env.rank, (long long)(k / (int64_t)size));
        }
    }
    free(mine);
}

void *to_device(const void *host, size_t bytes)
{
    void *device;

    spmm_assert_ok(spmm_buffer_alloc(ctx, bytes, &device));
    spmm_assert_ok(spmm_buffer_copy(ctx, device, host, bytes));
    return device;
}

void *to_device_narrow(const int64_t *host, int64_t count)
{
    int32_t *narrow = spmm_test_calloc((size_t)count + 1, sizeof *narrow);
    void    *device;

    for (int64_t k = 0; k < count; k++) {
        narrow[k] = (int32_t)host[k];
        assert_true(narrow[k] == host[k]);
    }
    device = to_device(narrow, (size_t)count * sizeof *narrow);
    free(narrow);
    return device;
}

/* In the plan's distribution; what execute() reads is moved there from the caller's, C where the
 * width is odd. */
static dense_t scattered(const shape_t *s, const product_t *p, spmm_plan_t *plan,
                         spmm_operand_t operand, uint64_t seed)
{
    const spmm_type_t  type = operand == SPMM_OPERAND_B ? p->o.b_type : p->o.c_type;
    spmm_layout_info_t info = {.struct_size = sizeof info};
    dense_t            from, to;

    spmm_assert_ok(spmm_plan_get_layout(plan, operand, &info));
    if (seed == 0 || (operand == SPMM_OPERAND_C && p->n % 2 == 0)) {
        return make_dense(s, p, &info, true, seed, type);
    }
    from = make_dense(s, p, &info, false, seed, type);
    to   = make_dense(s, p, &info, true, 0, type);
    spmm_assert_ok(
        spmm_plan_scatter(plan, operand, p->n, from.data, from.ld, to.data, to.ld, NULL));
    free_dense(&from);
    return to;
}

/* The same C, moved back to the caller's distribution. */
static void check_gathered(const shape_t *s, const product_t *p, uint64_t seed, spmm_plan_t *plan,
                           const dense_t *C)
{
    spmm_layout_info_t info = {.struct_size = sizeof info};
    dense_t            back;

    spmm_assert_ok(spmm_plan_get_layout(plan, SPMM_OPERAND_C, &info));
    back = make_dense(s, p, &info, false, 0, C->type);
    spmm_assert_ok(
        spmm_plan_gather(plan, SPMM_OPERAND_C, p->n, C->data, C->ld, back.data, back.ld, NULL));
    spmm_assert_ok(spmm_buffer_copy(ctx, back.host, back.base, back.bytes));
    check_c(s, p, seed, &back);
    free_dense(&back);
}

static void execute(const product_t *p, spmm_plan_t *plan, const dense_t *B, const dense_t *C)
{
    const spmm_alloc_stats_t before = spmmi_alloc_get_stats();
    double complex           scalars[2];

    reference_set(p->type, scalars, 0, p->alpha);
    reference_set(p->type, scalars, 1, p->beta);
    if (p->alpha == creal(p->alpha) && p->beta == creal(p->beta)) {
        spmm_assert_ok(spmm_execute(plan, p->n, creal(p->alpha), B->data, B->ld, creal(p->beta),
                                    C->data, C->ld, NULL));
    } else {
        spmm_assert_ok(spmm_execute_scaled(plan, p->n, scalars, B->data, B->ld,
                                           (char *)scalars + spmm_type_size(p->type), C->data,
                                           C->ld, NULL));
    }
    assert_true(p->o.graph != 0 || spmmi_alloc_get_stats().calls == before.calls);
}

/* C in the plan's layout. */
static dense_t run_once(const shape_t *s, const product_t *p, uint64_t seed, spmm_plan_t *plan)
{
    dense_t B = scattered(s, p, plan, SPMM_OPERAND_B, SEED_B);
    /* A beta of 0 must overwrite the NaN that C is then full of. */
    dense_t C = scattered(s, p, plan, SPMM_OPERAND_C, plan_no_beta(p) ? 0 : SEED_C);

    for (int k = 0; k == 0 || (plan_no_beta(p) && k <= p->repeats); k++) {
        execute(p, plan, &B, &C);
    }
    spmm_assert_ok(spmm_buffer_copy(ctx, C.host, C.base, C.bytes));
    if (!p->unchecked) {
        check_c(s, p, seed, &C);
        check_beside(p, &C);
        check_gathered(s, p, seed, plan, &C);
    }
    free_dense(&B);
    return C;
}

static void run(const shape_t *s, const product_t *p, uint64_t seed, spmm_plan_t *plan)
{
    dense_t C = run_once(s, p, seed, plan);

    free_dense(&C);
}

/* What of @p p its caller left open. */
static product_t completed(const product_t *p)
{
    product_t full = *p;

    full.o.struct_size = sizeof full.o;
    full.o.b_type      = p->o.b_type == SPMM_TYPE_AUTO ? p->type : p->o.b_type;
    full.o.c_type      = p->o.c_type == SPMM_TYPE_AUTO ? full.o.b_type : p->o.c_type;
    full.o.layout      = p->o.layout == SPMM_LAYOUT_AUTO ? SPMM_LAYOUT_ROW : p->o.layout;
    full.o.tuning      = test_context_tuning(p->o.tuning);
    full.planned_n     = p->planned_n == 0 ? p->n : p->planned_n;
    full.bound = p->o.compute == SPMM_COMPUTE_32F_FAST_TF32 ? 2e-3 : reference_bound(p->type);
    if (p->o.halo_type != SPMM_TYPE_AUTO) {
        full.bound += p->o.halo_type == SPMM_R_32F ? 0x1p-24 : 0x1p-11;
    }
    return full;
}

/* One status on all ranks.  @return was the plan made? */
static bool is_made(const product_t *p, spmm_status_t status)
{
    int range[2] = {(int)status, -(int)status};

    MPI_Allreduce(MPI_IN_PLACE, range, 2, MPI_INT, MPI_MAX, spmm_test_env.comm);
    if (range[0] != -range[1] ||
        (status != SPMM_OK && (!p->may_refuse || spmm_last_error(ctx)[0] == '\0' ||
                               (status != SPMM_ERR_ARGUMENT && status != SPMM_ERR_UNSUPPORTED &&
                                status != SPMM_ERR_RANGE)))) {
        fail_msg("%s: status %d, %d to %d on all ranks: %s", plan_case_name, (int)status, -range[1],
                 range[0], spmm_last_error(ctx));
    }
    return status == SPMM_OK;
}

/* Values by way of the device, where plans take them: their entries stay with the caller's rows. */
static void run_from_device(const shape_t *s, const product_t *p, const caller_t *c,
                            spmm_plan_t *plan)
{
    void *values = to_device(c->values, (size_t)c->row_ptr[c->rows] * spmm_type_size(p->type));

    if (is_made(p, spmm_plan_update_values(plan, values, NULL))) {
        run(s, p, FIRST_A, plan);
    }
    spmm_assert_ok(spmm_buffer_free(ctx, &values));
}

/* Another plan gives the same bits. */
static void run_again(const shape_t *s, const product_t *p, spmm_matrix_t *A, spmm_plan_t **plan)
{
    dense_t first = run_once(s, p, FIRST_A, *plan), again;

    spmm_assert_ok(spmm_plan_destroy(plan));
    spmm_assert_ok(spmm_plan_create(A, p->planned_n, &p->o, plan));
    again = run_once(s, p, FIRST_A, *plan);
    assert_memory_equal(first.host, again.host, first.bytes);
    free_dense(&first);
    free_dense(&again);
}

static void run_all(const shape_t *s, const product_t *p, const caller_t *first, spmm_matrix_t *A,
                    spmm_plan_t **plan)
{
    caller_t  second = make_caller(s, p, SECOND_A);
    product_t narrow = *p;

    narrow.n   = 1;
    narrow.pad = 3;
    if (p->o.deterministic != 0) {
        run_again(s, p, A, plan);
    } else {
        run(s, p, FIRST_A, *plan);
    }
    spmm_assert_ok(spmm_matrix_update_values(A, second.values));
    run(s, &narrow, SECOND_A, *plan);
    spmm_assert_ok(spmm_matrix_drop_entries(A)); /* the plan has its own */
    run(s, p, SECOND_A, *plan);
    if (p->may_refuse || ((p->o.partition == NULL || strcmp(p->o.partition, "keep") == 0) &&
                          !(p->o.reproducible != 0 && p->o.op != SPMM_OP_N))) {
        run_from_device(s, p, first, *plan);
    }
    free_caller(&second);
}

bool check_plan(const shape_t *s, const product_t *p)
{
    const product_t full  = completed(p);
    caller_t        first = make_caller(s, &full, FIRST_A);
    spmm_matrix_t  *A     = create(&first, p);
    spmm_plan_t    *plan  = NULL;
    const bool      made  = is_made(p, spmm_plan_create(A, full.planned_n, &full.o, &plan));

    if (made) {
        run_all(s, &full, &first, A, &plan);
        assert_int_equal(spmm_matrix_destroy(&A), SPMM_ERR_ARGUMENT); /* a plan is alive */
    }
    test_context_destroy(&plan, &A, NULL);
    free_caller(&first);
    return made;
}

spmm_matrix_t *plan_case_matrix(const shape_t *s, const product_t *p)
{
    caller_t       c = make_caller(s, p, FIRST_A);
    spmm_matrix_t *A = create(&c, p);

    free_caller(&c);
    return A;
}

void plan_case_update(const shape_t *s, const product_t *p, spmm_matrix_t *A)
{
    caller_t c = make_caller(s, p, SECOND_A);

    spmm_assert_ok(spmm_matrix_update_values(A, c.values));
    free_caller(&c);
}

void *plan_case_run(const shape_t *s, const product_t *p, spmm_plan_t *plan, size_t *bytes)
{
    const product_t full = completed(p);
    dense_t         C    = run_once(s, &full, FIRST_A, plan);

    *bytes = C.bytes;
    spmm_assert_ok(spmm_buffer_free(ctx, &C.base));
    return C.host;
}

void open_context(void)
{
    test_context_open(&ctx);
}

void close_context(void)
{
    spmm_assert_ok(spmm_context_destroy(&ctx));
    assert_null(ctx);
}
