/* SPDX-License-Identifier: Apache-2.0 */
/* bench_schedules: every schedule on the same matrices, predicted and measured.
 *
 *     mpirun -n RANKS bench_schedules [-n N,N...] [-t 64f|32f] [-c 32f|32f-fast-tf32]
 *                                     [-p PARTITION] [-x TRANSPORT] [-k CTAS] [-s NAME,...]
 *                                     FILE|SPEC...
 *
 * One line of tab-separated values for each input, N and schedule, one for what "auto" makes of
 * it, and by "-s reproducible" one of a plan with that option.  total_ms: one of many executes in a
 * row, median, slowest rank.  The phases are those of spmm_plan_stats_t, each the slowest rank's,
 * of a plan that also times them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/context.h"
#include "base/hash.h"
#include "base/scalar.h"
#include "plan/choose/trial.h"
#include "plan/move.h"
#include "plan/plan.h"
#include "tool_common.h"

enum { MOST_WIDTHS = 8, N_PHASES = 4, PROFILED = 5 };

typedef struct {
    spmm_context_t *ctx;
    const char     *partition, *transport;
    const char     *only; /* schedules to time, NULL: all */
    spmm_type_t     type;
    spmm_compute_t  compute;
    int64_t         n[MOST_WIDTHS];
    int             widths, ctas;
} bench_t;

static void must(const bench_t *b, spmm_status_t status, const char *what)
{
    if (status != SPMM_OK) {
        (void)fprintf(stderr, "bench_schedules: %s: %s\n", what, spmm_last_error(b->ctx));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* B of @p rows, allocated, random. */
static void *random_rows(const bench_t *b, spmm_type_t type, int64_t rows, int64_t n)
{
    const size_t bytes = (size_t)(rows * n) * spmm_type_size(type);
    void        *host = malloc(bytes + 1), *B = NULL;

    if (host == NULL) {
        (void)fprintf(stderr, "bench_schedules: out of host memory for B\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
        return NULL;
    }
    for (int64_t k = 0; k < rows * n; k++) {
        spmmi_value_set(type, host, k, spmmi_random_value(2, k, n));
    }
    must(b, spmm_buffer_alloc(b->ctx, bytes, &B), "B");
    must(b, spmm_buffer_copy(b->ctx, B, host, bytes), "B");
    free(host);
    return B;
}

/* pack, exchange, local, halo of some executes, the least of each; the slowest rank's. */
static void time_phases(const bench_t *b, spmm_plan_t *plan, int64_t n, double phase[N_PHASES])
{
    const size_t c_row = (size_t)n * spmm_type_size(plan->c_type);
    void        *C;
    void *B = random_rows(b, plan->ab_type, spmmi_plan_map(plan, SPMM_OPERAND_B)->n_local, n);

    must(b,
         spmm_buffer_alloc(b->ctx, (size_t)spmmi_plan_map(plan, SPMM_OPERAND_C)->n_local * c_row,
                           &C),
         "C");
    for (int p = 0; p < N_PHASES; p++) {
        phase[p] = INFINITY;
    }
    for (int k = 0; k < PROFILED; k++) {
        spmm_plan_stats_t s = {.struct_size = sizeof s};

        MPI_Barrier(MPI_COMM_WORLD);
        must(b, spmm_execute(plan, n, 1.0, B, n, 0.0, C, n, NULL), "spmm_execute");
        must(b, spmm_plan_get_stats(plan, &s), "stats");
        phase[0] = fmin(phase[0], s.pack_s);
        phase[1] = fmin(phase[1], s.exchange_s);
        phase[2] = fmin(phase[2], s.local_s);
        phase[3] = fmin(phase[3], s.halo_s);
    }
    MPI_Allreduce(MPI_IN_PLACE, phase, N_PHASES, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    must(b, spmm_buffer_free(b->ctx, &B), "B");
    must(b, spmm_buffer_free(b->ctx, &C), "C");
}

static void time_schedule(const bench_t *b, spmm_matrix_t *A, const char *name, int64_t n,
                          const char *schedule)
{
    const double           start   = MPI_Wtime();
    spmm_plan_options_t    o       = SPMM_PLAN_OPTIONS_INIT;
    spmm_schedule_trial_t *trial   = NULL;
    spmm_plan_t           *plan    = NULL;
    spmm_plan_stats_t      s       = {.struct_size = sizeof s};
    double                 seconds = NAN, phase[N_PHASES], plan_s;
    int                    rank;
    spmm_status_t          status;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    o.partition = b->partition;
    o.transport = b->transport;
    o.compute   = b->compute;
    o.tune      = "before"; /* all products are timed */
    o.profile   = 1;
    if (strcmp(schedule, "reproducible") == 0) {
        o.reproducible = 1;
    } else {
        o.schedule = schedule;
    }
    status = spmm_plan_create(A, n, &o, &plan);
    plan_s = MPI_Wtime() - start;
    if (status != SPMM_OK) {
        if (rank == 0) {
            (void)printf("%s\t%lld\t%s\t%s\n", name, (long long)n, schedule,
                         spmm_last_error(b->ctx));
        }
        return;
    }
    must(b, spmmi_schedule_trial_open(plan, &trial), "trial");
    must(b, spmmi_schedule_trial_measure(trial, &seconds), "trial");
    spmmi_schedule_trial_close(trial);
    time_phases(b, plan, n, phase);
    must(b, spmm_plan_get_stats(plan, &s), "stats");
    if (rank == 0) {
        (void)printf("%s\t%lld\t%s\t%s\t%s\t%s\t%s\t%.4f\t%.4f", name, (long long)n, schedule,
                     s.schedule, s.transport, s.engine, s.halo_engine, 1e3 * s.schedule_predicted_s,
                     1e3 * seconds);
        for (int p = 0; p < N_PHASES; p++) {
            (void)printf("\t%.4f", 1e3 * phase[p]);
        }
        (void)printf("\t%.1f\t%.2f\n", 1e-6 * (double)s.recv_bytes, plan_s);
        (void)fflush(stdout);
    }
    must(b, spmm_plan_destroy(&plan), "spmm_plan_destroy");
}

static bool is_file(const char *name)
{
    const char *dot = strchr(name, '.');

    return dot != NULL && (strstr(dot, ".mtx") != NULL || strstr(dot, ".csr") != NULL);
}

static void time_input(const bench_t *b, const char *name)
{
    spmm_matrix_t *A = NULL;

    must(b,
         is_file(name) ? spmm_matrix_read(b->ctx, name, b->type, 1, &A)
                       : spmm_matrix_generate(b->ctx, name, b->type, 1, &A),
         name);
    for (int w = 0; w < b->widths; w++) {
        for (int s = 0; s < spmmi_n_schedules; s++) {
            if (tool_is_listed(b->only, spmmi_schedules[s]->name)) {
                time_schedule(b, A, name, b->n[w], spmmi_schedules[s]->name);
            }
        }
        if (tool_is_listed(b->only, "auto")) {
            time_schedule(b, A, name, b->n[w], "auto");
        }
        if (b->only != NULL && tool_is_listed(b->only, "reproducible")) {
            time_schedule(b, A, name, b->n[w], "reproducible");
        }
    }
    must(b, spmm_matrix_destroy(&A), "spmm_matrix_destroy");
}

static void parse(bench_t *b, int argc, char **argv)
{
    bool good = true;
    int  code;

    while ((code = getopt(argc, argv, "n:t:c:p:x:k:s:")) != -1) {
        switch (code) {
        case 'n':
            b->widths = tool_read_widths(optarg, 1, b->n, MOST_WIDTHS);
            break;
        case 't':
            b->type = strcmp(optarg, "64f") == 0 ? SPMM_R_64F : SPMM_R_32F;
            break;
        case 'c':
            b->compute = strcmp(optarg, "32f") == 0 ? SPMM_COMPUTE_32F : SPMM_COMPUTE_32F_FAST_TF32;
            break;
        case 'p':
            b->partition = optarg;
            break;
        case 'x':
            b->transport = optarg;
            break;
        case 's':
            b->only = optarg;
            break;
        case 'k':
            b->ctas = atoi(optarg);
            break;
        default:
            good = false;
        }
    }
    if (!good || b->widths == 0) {
        (void)fprintf(stderr, "bench_schedules: see the head of bench/dist/schedules.c\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

int main(int argc, char **argv)
{
    bench_t b = {.partition = "block", .type = SPMM_R_32F, .n = {32, 128}, .widths = 2};
    spmm_context_options_t o = SPMM_CONTEXT_OPTIONS_INIT;
    int                    rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    parse(&b, argc, argv);
    o.nccl_ctas = b.ctas;
    must(&b, spmm_context_create(MPI_COMM_WORLD, &o, &b.ctx), "spmm_context_create");
    if (rank == 0) {
        (void)printf("input\tN\tasked\tschedule\ttransport\tengine\thalo_engine\tpredicted_ms\t"
                     "total_ms\tpack_ms\texchange_ms\tlocal_ms\thalo_ms\trecv_MB\tplan_s\n");
    }
    for (int k = optind; k < argc; k++) {
        time_input(&b, argv[k]);
    }
    must(&b, spmm_context_destroy(&b.ctx), "spmm_context_destroy");
    MPI_Finalize();
    return 0;
}
