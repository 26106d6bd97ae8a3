/* SPDX-License-Identifier: Apache-2.0 */
/* bench_dist: see dist.h; bench/README.md describes what it prints. */
#include "dist.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tool_common.h"

enum { SEED_B = 0x42 };

/** A plan being timed. */
typedef struct {
    const dist_case_t *c;
    spmm_plan_t       *plan;
} ours_t;

static void run_ours(void *self)
{
    const ours_t      *ours = self;
    const dist_case_t *c    = ours->c;

    dist_must(c->bench,
              spmm_execute(ours->plan, c->n, 1.0, c->B, c->n, 0.0, c->C, c->n, c->bench->stream),
              "spmm_execute");
}

/* Collective: all ranks get the same status. */
static spmm_status_t make_plan(const dist_case_t *c, const dist_variant_t *v, const char *partition,
                               spmm_plan_t **plan)
{
    spmm_plan_options_t o = SPMM_PLAN_OPTIONS_INIT;

    o.compute   = c->bench->options.compute;
    o.partition = partition;
    o.engine    = v->engine;
    o.transport = v->transport;
    o.tuning    = v->tuning;
    o.executes  = c->bench->options.executes;
    o.graph     = v->graph;
    o.profile   = !v->graph;
    return spmm_plan_create(c->A, c->n, &o, plan);
}

static void free_operands(dist_case_t *c)
{
    (void)spmm_buffer_free(c->bench->ctx, &c->B);
    (void)spmm_buffer_free(c->bench->ctx, &c->C);
    spmmi_free(c->row);
    c->row = NULL;
}

static bool are_same_rows(const dist_case_t *c, const spmm_layout_info_t *b)
{
    int same = c->row != NULL && c->b_rows == b->local_rows &&
               memcmp(c->row, b->global_row, (size_t)b->local_rows * sizeof *c->row) == 0;

    MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, c->bench->job.comm);
    return same != 0;
}

/* B and C where @p plan has its rows; kept from the last plan where that had them there too.
 * B holds the rows of the largest rank, since an allgather reads as many on every rank. */
static void make_operands(dist_case_t *c, const spmm_plan_t *plan)
{
    const dist_bench_t *b    = c->bench;
    spmm_layout_info_t  rows = {.struct_size = sizeof rows}, c_rows = rows;
    driver_job_t        job   = b->job;
    driver_block_t      block = {
             .columns = c->n, .ld = c->n, .layout = SPMM_LAYOUT_ROW, .type = c->info.type};
    int64_t most;

    dist_must(b, spmm_plan_get_layout(plan, SPMM_OPERAND_B, &rows), "rows of B");
    dist_must(b, spmm_plan_get_layout(plan, SPMM_OPERAND_C, &c_rows), "rows of C");
    if (are_same_rows(c, &rows)) {
        return;
    }
    free_operands(c);
    most = c->b_rows = rows.local_rows;
    c->c_rows        = c_rows.local_rows;
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT64_T, MPI_MAX, b->job.comm);
    if (SPMM_NEW(c->row, c->b_rows) == NULL) {
        dist_must(b, SPMM_ERR_MEMORY, "rows of B");
        return;
    }
    memcpy(c->row, rows.global_row, (size_t)c->b_rows * sizeof *c->row);
    dist_must(
        b, spmm_buffer_alloc(b->ctx, (size_t)(most * c->n) * spmm_type_size(c->info.type), &c->B),
        "B");
    dist_must(
        b,
        spmm_buffer_alloc(b->ctx, (size_t)(c->c_rows * c->n) * spmm_type_size(c->info.type), &c->C),
        "C");
    block.rows     = c->b_rows;
    block.elements = c->b_rows * c->n;
    block.data     = c->B;
    if (driver_block_fill(&job, b->ctx, &block, &c->dense, c->row, 0.0) != DRIVER_GOOD) {
        dist_must(b, SPMM_ERR_MEMORY, job.text);
    }
}

/* One timed way, checked and printed; C is that of one more product, over NaN.
 * @param[in,out] own_ms  of a baseline, its place in base_ms: NaN where C is wrong; else NULL */
static int finish_row(const dist_case_t *c, spmm_plan_t *plan, dist_row_t *row,
                      const double base_ms[], double *own_ms)
{
    const spmm_plan_stats_t *s = &plan->stats;

    row->input         = c->name;
    row->n             = c->n;
    row->rows          = c->info.rows;
    row->nnz           = c->info.nnz;
    row->partition     = s->partition;
    row->halo_rows     = s->halo_rows_total;
    row->halo_rows_max = s->halo_rows_max;
    dist_check(c, plan, row);
    if (own_ms != NULL && !row->passed) {
        *own_ms = NAN; /* no baseline */
    }
    dist_print_row(c->bench, row, base_ms);
    return row->passed ? DRIVER_GOOD : DRIVER_UNVERIFIED;
}

static dist_times_t no_times(void)
{
    return (dist_times_t){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
}

static int bench_baselines(const dist_case_t *c, spmm_plan_t *plan, double base_ms[])
{
    dist_base_t *base = dist_base_create(c, plan);
    int          code = DRIVER_GOOD;

    for (int k = 0; k < DIST_BASELINES; k++) {
        dist_row_t row = {.variant     = dist_baseline_names[k],
                          .engine      = "cusparse",
                          .halo_engine = "-",
                          .schedule    = "-",
                          .transport   = c->bench->job.size > 1 ? "nccl" : "-",
                          .times       = no_times()};
        int        one;

        dist_base_time(base, k, &row.times);
        base_ms[k] = row.times.total_ms;
        dist_poison(c);
        dist_base_run(base, k);
        one  = finish_row(c, plan, &row, base_ms, &base_ms[k]);
        code = code == DRIVER_GOOD ? one : code;
        if (c->bench->job.size == 1) { /* nothing travels: all three are one */
            base_ms[1] = base_ms[2] = base_ms[0];
            break;
        }
    }
    dist_base_destroy(base);
    return code;
}

static int bench_variant(const dist_case_t *c, const dist_variant_t *v, spmm_plan_t *plan,
                         const double base_ms[])
{
    ours_t            ours = {c, plan};
    dist_times_t      own  = no_times();
    spmm_plan_stats_t s    = {.struct_size = sizeof s};
    char              engine[DIST_TEXT / 4], halo_engine[DIST_TEXT / 4];
    dist_row_t        row = {.variant     = v->name,
                             .engine      = engine,
                             .halo_engine = halo_engine,
                             .schedule    = plan->stats.schedule,
                             .transport   = plan->stats.transport,
                             .times       = no_times()};

    dist_must(c->bench, spmm_plan_get_stats(plan, &s), "stats");
    dist_join_names(c->bench, s.engine, engine, sizeof engine);
    dist_join_names(c->bench, s.halo_engine, halo_engine, sizeof halo_engine);
    if (!v->graph) {
        dist_time_phases(c, plan, run_ours, &ours, &own);
    }
    plan->profile = false; /* its phase events cost time */
    own.total_ms  = dist_time_own(c->bench, run_ours, &ours);
    own.host_ms   = dist_time_host();
    own.loop_ms   = dist_time_loop(c->bench, run_ours, &ours);
    if (!v->graph) {
        dist_time_overlap(c, plan, &own);
    }
    dist_gather_times(c->bench, &own, &row.times);
    dist_poison(c);
    run_ours(&ours);
    return finish_row(c, plan, &row, base_ms, NULL);
}

static int bench_width(dist_case_t *c, const dist_input_t *input)
{
    const dist_bench_t *b                       = c->bench;
    double              base_ms[DIST_BASELINES] = {NAN, NAN, NAN};
    char                partition[DIST_TEXT];
    bool                baselines = b->options.baselines; /* are still to be timed */
    int                 code      = DRIVER_GOOD;

    dist_partition_of(&b->options, input, b->job.size, partition);
    for (int v = 0; v < b->options.n_variants; v++) {
        const dist_variant_t *variant = &b->options.variant[v];
        spmm_plan_t          *plan    = NULL;
        int                   one;

        if (make_plan(c, variant, partition, &plan) != SPMM_OK) {
            if (b->job.rank == 0) {
                (void)fprintf(stderr, "bench_dist: %s, %s: %s\n", c->name, variant->name,
                              spmm_last_error(b->ctx));
            }
            code = code == DRIVER_GOOD ? DRIVER_OTHER : code;
            continue;
        }
        make_operands(c, plan);
        if (baselines) {
            baselines = false;
            one       = bench_baselines(c, plan, base_ms);
            code      = code == DRIVER_GOOD ? one : code;
        }
        one  = bench_variant(c, variant, plan, base_ms);
        code = code == DRIVER_GOOD ? one : code;
        dist_must(b, spmm_plan_destroy(&plan), "the end of a plan");
    }
    free_operands(c);
    return code;
}

/* As spmm_dist has it, so that sums in 16f are in range and can be compared.  Collective. */
static void scale_b(dist_case_t *c)
{
    driver_job_t  job  = c->bench->job;
    driver_rows_t rows = {.n_rows = c->info.local_rows, .type = c->info.type};

    if (c->info.type != SPMM_R_16F) {
        return;
    }
    dist_must(c->bench, spmm_matrix_get_csr(c->A, &rows.row_ptr, &rows.col, &rows.values),
              "the matrix");
    c->dense.scale = tool_scale_of_b(driver_rows_max_sum(&job, &rows));
}

static int bench_input(dist_bench_t *b, const dist_input_t *input)
{
    const dist_options_t *o    = &b->options;
    dist_case_t           c    = {.bench = b,
                                  .name  = input->name,
                                  .info  = {.struct_size = sizeof c.info},
                                  .dense = driver_dense(SEED_B, o->type)};
    int                   code = DRIVER_GOOD;

    if ((input->generated ? spmm_matrix_generate(b->ctx, input->name, o->type, 0, &c.A)
                          : spmm_matrix_read(b->ctx, input->name, o->type, 0, &c.A)) != SPMM_OK) {
        if (b->job.rank == 0) {
            (void)fprintf(stderr, "bench_dist: %s\n", spmm_last_error(b->ctx));
        }
        return DRIVER_INPUT;
    }
    dist_must(b, spmm_matrix_get_info(c.A, &c.info), "the matrix");
    scale_b(&c);
    for (int w = 0; w < o->n_widths; w++) {
        int one;

        c.n  = o->width[w];
        one  = bench_width(&c, input);
        code = code == DRIVER_GOOD ? one : code;
    }
    dist_must(b, spmm_matrix_destroy(&c.A), "the end of a matrix");
    return code;
}

static void open_nccl(dist_bench_t *b)
{
    ncclUniqueId id;

    if (b->job.size == 1) {
        return;
    }
    if (b->job.rank == 0) {
        dist_must_nccl(b, ncclGetUniqueId(&id), "ncclGetUniqueId");
    }
    MPI_Bcast(&id, (int)sizeof id, MPI_BYTE, 0, b->job.comm);
    dist_must_nccl(b, ncclCommInitRank(&b->nccl, b->job.size, id, b->job.rank), "ncclCommInitRank");
}

static void open_bench(dist_bench_t *b)
{
    spmm_context_options_t o = SPMM_CONTEXT_OPTIONS_INIT;
    const int64_t          n = b->options.iterations + 1;

    o.device = SPMM_DEVICE_CUDA;
    dist_must(b, spmm_context_create(b->job.comm, &o, &b->ctx), "the context");
    b->scratch_bytes = (size_t)256 << 20;
    b->mark          = calloc((size_t)n, sizeof *b->mark);
    if (b->mark == NULL) {
        dist_must(b, SPMM_ERR_MEMORY, "marks");
        return;
    }
    dist_must_cuda(b, cudaStreamCreateWithFlags(&b->stream, cudaStreamNonBlocking), "a stream");
    dist_must_cuda(b, cudaMalloc(&b->scratch, b->scratch_bytes), "scratch memory");
    for (int64_t k = 0; k < n; k++) {
        dist_must_cuda(b, cudaEventCreate(&b->mark[k]), "a mark");
    }
    open_nccl(b);
    b->out = stdout;
    if (b->job.rank == 0 && b->options.out != NULL) {
        b->out = fopen(b->options.out, b->options.append ? "a" : "w");
        if (b->out == NULL) {
            (void)fprintf(stderr, "bench_dist: %s: %s\n", b->options.out, strerror(errno));
            MPI_Abort(MPI_COMM_WORLD, DRIVER_OTHER);
        }
    }
}

static void close_bench(dist_bench_t *b)
{
    if (b->job.rank == 0 && b->out != stdout && fclose(b->out) != 0) {
        (void)fprintf(stderr, "bench_dist: %s: %s\n", b->options.out, strerror(errno));
        MPI_Abort(MPI_COMM_WORLD, DRIVER_OTHER);
    }
    for (int64_t k = 0; k <= b->options.iterations; k++) {
        (void)cudaEventDestroy(b->mark[k]);
    }
    (void)cudaFree(b->scratch);
    (void)cudaStreamDestroy(b->stream);
    if (b->nccl != NULL) {
        (void)ncclCommDestroy(b->nccl);
    }
    (void)spmm_context_destroy(&b->ctx);
    free(b->mark);
}

int main(int argc, char **argv)
{
    static dist_bench_t bench = {.job = {.comm = MPI_COMM_WORLD}};
    dist_bench_t       *b     = &bench;
    int                 code;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(b->job.comm, &b->job.rank);
    MPI_Comm_size(b->job.comm, &b->job.size);
    code = dist_options_parse(&b->job, argc, argv, &b->options);
    if (code != DRIVER_GOOD || b->options.help) {
        if (b->job.rank == 0 && b->options.help) {
            dist_print_help(stdout);
        } else if (b->job.rank == 0) {
            (void)fprintf(stderr, "bench_dist: %s\n", b->job.text);
        }
        MPI_Finalize();
        return code;
    }
    open_bench(b);
    if (b->job.rank == 0) {
        dist_print_header(b, argc, argv);
    }
    for (int i = 0; i < b->options.n_inputs; i++) {
        const int one = bench_input(b, &b->options.input[i]);

        code = code == DRIVER_GOOD ? one : code;
    }
    close_bench(b);
    MPI_Finalize();
    return code;
}
