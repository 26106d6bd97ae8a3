/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dist.h"
#include "plan/run/products.h"
#include "tool_common.h"

enum {
    WARMUP      = 5,
    LEAD_COPIES = 24,
    PHASES      = 4,
    PHASE_RUNS  = 11,
    PHASE_LEAD  = 6, /* copies: 0.4 ms on an H200 */
    PHASE_CHAIN = 3, /* products, of which the last one is looked at */
};

static double host_ms; /* of dist_time_own() */

static void stop(const dist_bench_t *b, const char *what, const char *why)
{
    (void)fprintf(stderr, "bench_dist: rank %d: %s: %s\n", b->job.rank, what, why);
    MPI_Abort(MPI_COMM_WORLD, DRIVER_OTHER);
}

void dist_must(const dist_bench_t *b, spmm_status_t status, const char *what)
{
    if (status != SPMM_OK) {
        const char *text = spmm_last_error(b->ctx);

        stop(b, what, text[0] != '\0' ? text : spmm_status_string(status));
    }
}

void dist_must_cuda(const dist_bench_t *b, cudaError_t code, const char *what)
{
    if (code != cudaSuccess) {
        stop(b, what, cudaGetErrorString(code));
    }
}

void dist_must_nccl(const dist_bench_t *b, ncclResult_t code, const char *what)
{
    if (code != ncclSuccess) {
        stop(b, what, ncclGetErrorString(code));
    }
}

static double largest(const dist_bench_t *b, double value)
{
    double all = value;

    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_DOUBLE, MPI_MAX, b->job.comm);
    return all;
}

static void synchronize(const dist_bench_t *b)
{
    dist_must_cuda(b, cudaStreamSynchronize(b->stream), "the stream");
}

static void warm_up(const dist_bench_t *b, dist_run_t run, void *self)
{
    for (int64_t k = 0; k < WARMUP; k++) {
        run(self);
    }
    synchronize(b);
    MPI_Barrier(b->job.comm);
}

/* Keep the GPU busy, so that the host is ahead and its launches are not timed. */
static void lead(const dist_bench_t *b, int copies)
{
    for (int k = 0; k < copies; k++) {
        dist_must_cuda(b, cudaMemsetAsync(b->scratch, k, b->scratch_bytes, b->stream), "lead");
    }
}

/* Products follow each other without a gap, as in a solver; the mark between two ends one and
 * starts the next. */
double dist_time_own(const dist_bench_t *b, dist_run_t run, void *self)
{
    const int64_t n  = b->options.iterations;
    double       *ms = calloc((size_t)n, sizeof *ms);
    double        median, host_s = 0.0;

    if (ms == NULL) {
        stop(b, "timing", "out of memory");
        return NAN;
    }
    warm_up(b, run, self);
    lead(b, LEAD_COPIES);
    run(self); /* what the lead took from the cache */
    dist_must_cuda(b, cudaEventRecord(b->mark[0], b->stream), "a mark");
    for (int64_t k = 0; k < n; k++) {
        const double start = MPI_Wtime();

        run(self);
        host_s += MPI_Wtime() - start;
        dist_must_cuda(b, cudaEventRecord(b->mark[k + 1], b->stream), "a mark");
    }
    synchronize(b);
    for (int64_t k = 0; k < n; k++) {
        float took = 0.0f;

        dist_must_cuda(b, cudaEventElapsedTime(&took, b->mark[k], b->mark[k + 1]), "a time");
        ms[k] = (double)took;
    }
    median  = tool_median(ms, n);
    host_ms = 1e3 * host_s / (double)n;
    free(ms);
    return median;
}

double dist_time_host(void)
{
    return host_ms;
}

double dist_time(const dist_bench_t *b, dist_run_t run, void *self)
{
    return largest(b, dist_time_own(b, run, self));
}

double dist_time_loop(const dist_bench_t *b, dist_run_t run, void *self)
{
    double start;

    warm_up(b, run, self);
    start = MPI_Wtime();
    for (int64_t k = 0; k < b->options.iterations; k++) {
        run(self);
    }
    synchronize(b);
    return largest(b, 1e3 * (MPI_Wtime() - start) / (double)b->options.iterations);
}

/* Mean over the ranks that have one. */
static double mean(const dist_bench_t *b, double value)
{
    double sum[2] = {isnan(value) ? 0.0 : value, isnan(value) ? 0.0 : 1.0};

    MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_DOUBLE, MPI_SUM, b->job.comm);
    return sum[1] > 0.0 ? sum[0] / sum[1] : NAN;
}

void dist_time_phases(const dist_case_t *c, spmm_plan_t *plan, dist_run_t run, void *self,
                      dist_times_t *own)
{
    const dist_bench_t *b = c->bench;
    double              sample[PHASES][PHASE_RUNS];

    warm_up(b, run, self);
    for (int k = 0; k < PHASE_RUNS; k++) {
        spmm_plan_stats_t s = {.struct_size = sizeof s};

        MPI_Barrier(b->job.comm);
        lead(b, PHASE_LEAD);
        for (int chained = 0; chained < PHASE_CHAIN; chained++) {
            run(self);
        }
        synchronize(b);
        dist_must(b, spmm_plan_get_stats(plan, &s), "stats");
        sample[0][k] = s.pack_s;
        sample[1][k] = s.exchange_s;
        sample[2][k] = s.local_s;
        sample[3][k] = s.halo_s;
    }
    own->pack_ms     = 1e3 * tool_median(sample[0], PHASE_RUNS);
    own->exchange_ms = 1e3 * tool_median(sample[1], PHASE_RUNS);
    own->local_ms    = 1e3 * tool_median(sample[2], PHASE_RUNS);
    own->halo_ms     = 1e3 * tool_median(sample[3], PHASE_RUNS);
}

/** Parts of a product, each on its own. */
typedef struct {
    const dist_bench_t *b;
    spmm_plan_t        *plan;
    spmm_operands_t     x;
    spmm_slice_t        all;
} parts_t;

static void run_exchange(void *self)
{
    parts_t *p = self;

    dist_must(p->b, spmmi_plan_begin_rows(p->plan, &p->x, &p->all, p->x.stream), "an exchange");
    dist_must(p->b, spmmi_plan_end_rows(p->plan, &p->x, &p->all, p->x.stream), "an exchange");
}

static void run_local(void *self)
{
    parts_t *p = self;

    dist_must(p->b, spmmi_plan_run_diagonal(p->plan, &p->x), "the diagonal block");
}

static void run_halo(void *self)
{
    parts_t *p = self;

    dist_must(p->b, spmmi_plan_run_off_diagonal(p->plan, &p->x, &p->all), "the off-diagonal block");
}

/* Events around a kernel of 10 us take longer than what is to be seen: parts are timed in a row. */
void dist_time_overlap(const dist_case_t *c, spmm_plan_t *plan, dist_times_t *own)
{
    const dist_bench_t *b = c->bench;
    parts_t             p = {.b    = b,
                             .plan = plan,
                             .x    = {.ab_type = plan->ab_type,
                                      .c_type  = plan->c_type,
                                      .layout  = SPMM_LAYOUT_ROW,
                                      .n       = c->n,
                                      .alpha   = {.re = 1.0},
                                      .B       = c->B,
                                      .ldb     = c->n,
                                      .C       = c->C,
                                      .ldc     = c->n,
                                      .stream  = b->stream},
                             .all  = {.n = c->n, .halo = plan->exchange.ghost_rows}};
    double              comm, local, halo, shorter;

    own->overlap = own->comm_ms = own->own_ms = own->rest_ms = NAN;
    if (!plan->choice.travels || plan->choice.schedule->merges || plan->stats.chunks != 1) {
        return;
    }
    comm         = dist_time_own(b, run_exchange, &p);
    local        = dist_time_own(b, run_local, &p);
    halo         = dist_time_own(b, run_halo, &p);
    shorter      = comm < local ? comm : local;
    own->comm_ms = comm;
    own->own_ms  = local;
    own->rest_ms = halo;
    own->overlap = plan->exchange.alone ? NAN : (comm + local + halo - own->total_ms) / shorter;
}

void dist_join_names(const dist_bench_t *b, const char *name, char *text, size_t size)
{
    enum { LONGEST = 32 };
    char own[LONGEST], *all = calloc((size_t)b->job.size, sizeof own);

    if (all == NULL) {
        stop(b, "names of engines", "out of memory");
        return;
    }
    (void)snprintf(own, sizeof own, "%s", name != NULL ? name : "-");
    MPI_Allgather(own, LONGEST, MPI_CHAR, all, LONGEST, MPI_CHAR, b->job.comm);
    (void)snprintf(text, size, "%s", all);
    for (int p = 1; p < b->job.size; p++) {
        const size_t length = strlen(text);
        bool         known  = false;

        for (int q = 0; q < p; q++) {
            known = known || strcmp(all + q * LONGEST, all + p * LONGEST) == 0;
        }
        if (!known) {
            (void)snprintf(text + length, size - length, "+%s", all + p * LONGEST);
        }
    }
    free(all);
}

void dist_gather_times(const dist_bench_t *b, const dist_times_t *own, dist_times_t *times)
{
    times->total_ms    = largest(b, own->total_ms);
    times->loop_ms     = own->loop_ms;
    times->pack_ms     = largest(b, own->pack_ms);
    times->exchange_ms = largest(b, own->exchange_ms);
    times->local_ms    = largest(b, own->local_ms);
    times->halo_ms     = largest(b, own->halo_ms);
    times->overlap     = mean(b, own->overlap);
    times->spread      = times->local_ms / mean(b, own->local_ms);

    times->comm_ms = largest(b, own->comm_ms);
    times->own_ms  = largest(b, own->own_ms);
    times->rest_ms = largest(b, own->rest_ms);
    times->host_ms = largest(b, own->host_ms);
}
