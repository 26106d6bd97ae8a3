/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/choose/tries.h"

#include <math.h>

#include "base/alloc.h"
#include "base/sort.h"
#include "spmm_dist/context.h"

/* Turns: one to warm up, in which cuSPARSE also looks at A, and one that is timed; then, for those
 * not dropped, one to warm up again and those that count. */
enum { FIRST_TURNS = 2, TURNS = FIRST_TURNS + 1 + SPMM_TRY_SAMPLES, READS = 2 /* a product */ };
static const double too_slow = 1.5; /* times the least, of first products */
/* An engine with three launches takes the host longer than one with one, and may be the faster one
 * on the device: one that has nothing to do waits until all is launched. */
static const double lead_s = 2e-5;

spmm_status_t spmmi_tries_create(const spmm_device_t *device, spmm_tries_t **tries)
{
    if (SPMM_NEW_ZERO(*tries, 1) == NULL) {
        return spmmi_fail_memory(&device->env->err, 1, sizeof **tries, "formats to try");
    }
    (*tries)->device = device;
    return SPMM_OK;
}

static void free_events(const spmm_device_t *device, spmm_try_t *one)
{
    for (int k = 0; k < SPMM_TRY_SAMPLES; k++) {
        device->ops->event_destroy(device, one->from[k]);
        device->ops->event_destroy(device, one->to[k]);
    }
}

spmm_status_t spmmi_tries_add(spmm_tries_t *tries, spmm_candidate_t *candidate, void *format,
                              int variant)
{
    const spmm_device_t *device = tries->device;
    spmm_try_t          *one    = &tries->of[tries->count];
    spmm_status_t        status = SPMM_OK;

    *one = (spmm_try_t){.candidate = candidate, .format = format, .variant = variant};
    for (int k = 0; k < SPMM_TRY_SAMPLES && status == SPMM_OK; k++) {
        status = device->ops->event_create(device, true, &one->from[k]);
        if (status == SPMM_OK) {
            status = device->ops->event_create(device, true, &one->to[k]);
        }
    }
    if (status != SPMM_OK) {
        free_events(device, one);
        return status;
    }
    tries->count++;
    return SPMM_OK;
}

double spmmi_try_seconds(const spmm_try_t *one)
{
    double samples[SPMM_TRY_SAMPLES];

    if (one->known <= 1) {
        return one->known == 0 ? NAN : one->seconds[0];
    }
    for (int k = 1; k < one->known; k++) {
        samples[k - 1] = one->seconds[k];
    }
    return spmmi_median(samples, one->known - 1);
}

/* Events of time number @p k: the first is known before another is taken. */
static int pair_of(int k)
{
    return k == 0 ? 0 : k - 1;
}

/* Is a format's product of this turn timed? */
static bool is_timed(int turn)
{
    return turn != 0 && turn != FIRST_TURNS;
}

/* How many of its products are timed, the last one being so. */
static int timed(const spmm_try_t *one)
{
    return one->turns - (one->turns > FIRST_TURNS ? 2 : 1);
}

/* Times in the order of their products, @p most of them, up to one that is not there yet. */
static spmm_status_t read_times(spmm_tries_t *tries, int most)
{
    const spmm_device_ops_t *ops = tries->device->ops;

    for (int reads = 0; reads < most && tries->n_pending > 0; reads++) {
        spmm_try_t *one  = &tries->of[tries->pending[tries->head]];
        const int   pair = pair_of(one->known);
        bool        done = false;

        SPMM_TRY(ops->event_query(tries->device, one->to[pair], &done));
        if (!done) {
            return SPMM_OK;
        }
        SPMM_TRY(ops->event_elapsed(tries->device, one->from[pair], one->to[pair],
                                    &one->seconds[one->known]));
        one->known++;
        tries->head = (tries->head + 1) % SPMM_MOST_PENDING;
        tries->n_pending--;
    }
    return SPMM_OK;
}

/* The first format left. */
static int first_left(const spmm_tries_t *tries)
{
    int k = 0;

    while (k < tries->count && tries->of[k].dropped) {
        k++;
    }
    return k;
}

/* The fastest known by times that count; without any, by first ones; else the first one left. */
static int best_known(const spmm_tries_t *tries)
{
    int best = -1;

    for (int least = 2; least >= 1 && best < 0; least--) {
        for (int k = 0; k < tries->count; k++) {
            const spmm_try_t *one = &tries->of[k];

            if (!one->dropped && one->known >= least &&
                (best < 0 || spmmi_try_seconds(one) < spmmi_try_seconds(&tries->of[best]))) {
                best = k;
            }
        }
    }
    return best < 0 ? first_left(tries) : best;
}

static bool firsts_known(const spmm_tries_t *tries)
{
    for (int k = 0; k < tries->count; k++) {
        if (!tries->of[k].dropped && tries->of[k].known == 0) {
            return false;
        }
    }
    return true;
}

static void drop_slow(spmm_tries_t *tries)
{
    double least = INFINITY;

    for (int k = 0; k < tries->count; k++) {
        least = fmin(least, tries->of[k].dropped ? (double)INFINITY : tries->of[k].seconds[0]);
    }
    for (int k = 0; k < tries->count; k++) {
        tries->of[k].dropped |= tries->of[k].seconds[0] > too_slow * least;
    }
}

/* Is all known that was asked for? */
static bool is_known(const spmm_tries_t *tries)
{
    int left = 0, complete = 0;

    for (int k = 0; k < tries->count; k++) {
        left += !tries->of[k].dropped;
        complete += !tries->of[k].dropped && tries->of[k].known == 1 + SPMM_TRY_SAMPLES;
    }
    return complete == left || left == 1;
}

/* Of several variants of an engine the fastest gives its time. */
static void note_times(spmm_tries_t *tries)
{
    for (int k = 0; k < tries->count; k++) {
        spmm_candidate_t *c = tries->of[k].candidate;

        c->measured_s = fmin(c->measured_s, spmmi_try_seconds(&tries->of[k]));
    }
}

static void settle(spmm_tries_t *tries, bool whole)
{
    tries->at    = best_known(tries);
    tries->since = tries->products + 1;
    tries->whole = whole;
    note_times(tries);
    spmmi_log(tries->device->env, "engine %s runs from product %lld on",
              tries->of[tries->at].candidate->name, (long long)tries->since);
}

static spmm_status_t read_and_settle(spmm_tries_t *tries, int most)
{
    SPMM_TRY(read_times(tries, most));
    if (!firsts_known(tries)) {
        return SPMM_OK;
    }
    drop_slow(tries);
    if (is_known(tries)) {
        settle(tries, true);
    }
    return SPMM_OK;
}

spmm_status_t spmmi_tries_read(spmm_tries_t *tries)
{
    return tries->open && tries->since == 0 ? read_and_settle(tries, SPMM_MOST_PENDING) : SPMM_OK;
}

/* The format whose turn it is; -1: none before more times are known. */
static int next_turn(const spmm_tries_t *tries)
{
    const bool firsts = firsts_known(tries);

    for (int k = 0; k < tries->count; k++) {
        const spmm_try_t *one = &tries->of[k];

        if (!one->dropped && one->turns < (firsts ? TURNS : FIRST_TURNS)) {
            return k;
        }
    }
    return -1;
}

spmm_status_t spmmi_tries_begin(spmm_tries_t *tries, bool typical, bool adds)
{
    int k = -1;

    tries->timing = false;
    SPMM_TRY(read_and_settle(tries, READS));
    if (tries->since == 0 && tries->products >= SPMM_TRY_PRODUCTS) {
        settle(tries, false);
    }
    tries->products++;
    if (tries->since != 0) {
        return SPMM_OK;
    }
    if (typical && !tries->has_beta) {
        tries->has_beta = true;
        tries->adds     = adds;
    }
    if (typical && tries->adds == adds) {
        k = next_turn(tries);
    }
    tries->at = k >= 0 ? k : best_known(tries);
    if (k >= 0) {
        tries->timing = is_timed(tries->of[k].turns);
        tries->of[k].turns++;
    }
    return SPMM_OK;
}

static spmm_status_t execute_timed(spmm_tries_t *tries, const spmm_operands_t *x)
{
    const spmm_device_ops_t *ops  = tries->device->ops;
    const spmm_try_t        *one  = &tries->of[tries->at];
    const int                pair = pair_of(timed(one) - 1);
    const int                tail = (tries->head + tries->n_pending) % SPMM_MOST_PENDING;

    if (tries->n_pending == 0) { /* the host may not be ahead of the device */
        SPMM_TRY(ops->delay(tries->device, lead_s, x->stream));
    }
    SPMM_TRY(ops->event_record(tries->device, one->from[pair], x->stream));
    SPMM_TRY(one->candidate->engine->execute(one->format, x));
    SPMM_TRY(ops->event_record(tries->device, one->to[pair], x->stream));
    tries->pending[tail] = tries->at;
    tries->n_pending++;
    return SPMM_OK;
}

spmm_status_t spmmi_tries_execute(spmm_tries_t *tries, const spmm_operands_t *x)
{
    spmm_env_t *env = tries->device->env;

    for (;;) {
        spmm_try_t         *one    = &tries->of[tries->at];
        const spmm_status_t status = tries->timing
                                         ? execute_timed(tries, x)
                                         : one->candidate->engine->execute(one->format, x);

        one->turns -= tries->timing && status != SPMM_OK; /* it has no time of this one */
        tries->timing = false;
        if (tries->since != 0 || !spmmi_is_refusal(status)) {
            return status;
        }
        one->dropped = true;
        if (first_left(tries) == tries->count) {
            one->dropped = false;
            return status;
        }
        spmmi_log(env, "engine %s is tried no longer: %s", one->candidate->name, env->err.text);
        spmmi_error_clear(&env->err);
        tries->at = best_known(tries);
    }
}

void spmmi_tries_remember(const spmm_tries_t *tries)
{
    const spmm_try_t *one    = &tries->of[tries->at];
    spmm_winner_t     winner = {.variant = one->variant, .seconds = spmmi_try_seconds(one)};

    if (tries->whole && tries->key[0] != '\0') {
        (void)snprintf(winner.engine, sizeof winner.engine, "%s", one->candidate->name);
        if (!spmmi_remember_store(tries->key, &winner)) {
            spmmi_log(tries->device->env, "the choice of engine %s is not remembered: no file",
                      winner.engine);
        }
    }
}

void spmmi_tries_free(spmm_tries_t *tries)
{
    if (tries == NULL) {
        return;
    }
    for (int k = 0; k < tries->count; k++) {
        if (k != tries->at) {
            tries->of[k].candidate->engine->destroy(tries->of[k].format);
        }
        free_events(tries->device, &tries->of[k]);
    }
    spmmi_free(tries);
}
