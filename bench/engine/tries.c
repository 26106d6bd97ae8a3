/* SPDX-License-Identifier: Apache-2.0 */
/** @file tries.c
 *  What it costs the host that a plan finds its engine by use, without a GPU:
 *
 *      bench_tries
 *
 *  Prints, tab-separated, the time of a product whose engine does nothing, once the choice stands
 *  and while six formats are tried, per product: the least of many rounds of all products that a
 *  choice takes.  Events are those of the CPU, which read the clock.
 */
#include <math.h>
#include <stdio.h>

#include "engine/choose/tries.h"
#include "spmm_dist/context.h"

enum { ROUNDS = 2000 };

static spmm_status_t do_nothing(void *format, const spmm_operands_t *x)
{
    (void)format;
    (void)x;
    return SPMM_OK;
}

static void destroy(void *format)
{
    (void)format;
}

static const spmm_engine_ops_t engine = {
    .name = "nothing", .execute = do_nothing, .destroy = destroy};

/* Seconds for a product of one choice; @p settled: after it. */
static spmm_status_t run(const spmm_device_t *device, double *trying, double *settled)
{
    const spmm_operands_t x = {.n = 1};
    spmm_candidate_t      c[SPMM_MOST_TRIES];
    spmm_tries_t         *tries;
    double                start = 0.0;

    SPMM_TRY(spmmi_tries_create(device, &tries));
    for (int k = 0; k < SPMM_MOST_TRIES; k++) {
        c[k] = (spmm_candidate_t){.name = "nothing", .engine = &engine, .measured_s = NAN};
        SPMM_TRY(spmmi_tries_add(tries, &c[k], NULL, k));
    }
    tries->open = true;
    start       = spmmi_now();
    while (tries->since == 0) {
        SPMM_TRY(spmmi_tries_begin(tries, true, false));
        SPMM_TRY(spmmi_tries_execute(tries, &x));
    }
    *trying = (spmmi_now() - start) / (double)tries->products;
    start   = spmmi_now();
    for (int k = 0; k < SPMM_TRY_PRODUCTS; k++) {
        SPMM_TRY(c[0].engine->execute(NULL, &x));
    }
    *settled = (spmmi_now() - start) / SPMM_TRY_PRODUCTS;
    spmmi_tries_free(tries);
    return SPMM_OK;
}

static spmm_status_t measure(spmm_env_t *env)
{
    spmm_device_t device;
    double        least[2] = {INFINITY, INFINITY};

    SPMM_TRY(spmmi_device_open(env, SPMM_DEVICE_CPU, NULL, &device));
    for (int round = 0; round < ROUNDS; round++) {
        double trying, settled;

        SPMM_TRY(run(&device, &trying, &settled));
        least[0] = fmin(least[0], trying);
        least[1] = fmin(least[1], settled);
    }
    (void)printf("formats\tproducts\ttrying_ns\tsettled_ns\n%d\t%d\t%.0f\t%.0f\n", SPMM_MOST_TRIES,
                 SPMM_TRY_PRODUCTS, 1e9 * least[0], 1e9 * least[1]);
    return SPMM_OK;
}

int main(int argc, char **argv)
{
    spmm_env_t    env = {.comm = MPI_COMM_WORLD, .rank = 0, .size = 1};
    spmm_status_t status;

    MPI_Init(&argc, &argv);
    status = measure(&env);
    if (status != SPMM_OK) {
        (void)fprintf(stderr, "bench_tries: %s\n", env.err.text);
    }
    MPI_Finalize();
    return status == SPMM_OK ? 0 : 1;
}
