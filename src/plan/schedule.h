/* SPDX-License-Identifier: Apache-2.0 */
/** @file schedule.h
 *  A schedule is one order of the parts of a product: packing, exchange, and passes over C.  Add one
 *  by writing its spmm_schedule_t in a file of its own and one line in schedule_list.h.
 */
#ifndef SPMM_PLAN_SCHEDULE_H
#define SPMM_PLAN_SCHEDULE_H

#include <stdbool.h>

#include "engine/engine.h"
#include "spmm_dist/plan.h"

enum { SPMM_MOST_CHUNKS = 4, SPMM_MOST_SCHEDULES = 16 };

/** Columns [first, first + n) of B and C, which travel together. */
typedef struct {
    int     index; /**< counted from 0: which marks are theirs */
    int64_t first, n;
    void   *halo; /**< [recv rows x n] device, packed: target of op N, source of op T */
} spmm_slice_t;

/** What a schedule needs besides what all plans have: formats, and buffers for rows. */
typedef enum {
    SPMM_BLOCKSET_SPLIT,    /**< local and halo block; halo rows */
    SPMM_BLOCKSET_MERGED,   /**< one block over [own | halo] columns; both rows in one buffer */
    SPMM_BLOCKSET_GATHERED, /**< one block over [own | all other] columns, and all of B */
    SPMM_BLOCKSETS
} spmm_blockset_t;

/** Predicted seconds of the parts of one of k chunks of equal width, this rank. */
typedef struct {
    double pack_s, own_s;    /**< packing mirror rows; copying own rows of B */
    double halo_s, joined_s; /**< products with the halo block and with the joined one */
    double exchange_s;       /**< the slowest rank's */
} spmm_chunk_terms_t;

/** The same of the whole product. */
typedef struct {
    bool   concurrent; /**< the exchange runs beside products */
    double hop_s;      /**< from one stream to the other */
    double local_s;    /**< product with the local block */
    double add_s;      /**< op T: sum of the rows received */
    double gather_s;   /**< exchange of all of B, the slowest rank's */

    spmm_chunk_terms_t chunk[SPMM_MOST_CHUNKS + 1]; /**< [k]; k = 0 is unused */
} spmm_terms_t;

typedef struct spmm_schedule spmm_schedule_t;
struct spmm_schedule {
    const char     *name;        /**< stable, user-visible: "overlap" */
    const char     *description; /**< one line */
    spmm_blockset_t blockset;
    int             chunks;   /**< most slices that B is cut into */
    bool            in_order; /**< all is on the user stream: nobody waits for mark START */

    /** May it run this plan?  By facts that are equal on all ranks.  When not, @p why gets the
     *  reason: the end of a sentence that starts with the schedule's name. */
    bool (*applies)(const spmm_plan_t *plan, char why[SPMM_WHY]);
    /** Predicted seconds of one execute of this rank; the model stands above the function. */
    double (*predict)(const spmm_schedule_t *self, const spmm_plan_t *plan,
                      const spmm_terms_t *terms);
    /** Enqueue one product between marks START and DONE; everything is joined to x->stream.  An
     *  exchange that peers wait for is made also where a product of this rank failed. */
    spmm_status_t (*run)(const spmm_schedule_t *self, spmm_plan_t *plan, const spmm_operands_t *x);
};

/** All schedules; the first is the one that others must beat. */
extern const spmm_schedule_t *const spmmi_schedules[];
extern const int                    spmmi_n_schedules;

/* schedule.c */

/** NULL when there is none of that name. */
const spmm_schedule_t *spmmi_schedule_find(const char *name);
/** Has this rank nothing to do with the schedule?  No row travels from or to it. */
bool spmmi_plan_runs_alone(const spmm_plan_t *plan);
/** Enqueue one product by the plan's schedule. */
spmm_status_t spmmi_plan_run(spmm_plan_t *plan, const spmm_operands_t *x);

/* schedule_choose.c */

/** Measure also on CPUs.  Equal on all ranks and constant but for tests. */
extern bool spmmi_schedule_measure_cpu;

/** Choose plan->schedule and make its formats and buffers.  Collective, agreed. */
spmm_status_t spmmi_plan_choose_schedule(spmm_plan_t *plan, const spmm_plan_options_t *options);

/* schedule_predict.c */

/** Fill the predictions of the candidates.  Collective, agreed. */
spmm_status_t spmmi_plan_predict(spmm_plan_t *plan, const char *engine);
/** Seconds of both at once, or one after the other where nothing is concurrent. */
double spmmi_terms_both(const spmm_terms_t *terms, double a, double b);
/** Seconds of @p k chunks, each packed and exchanged (@p arrive_s) and then multiplied
 *  (@p multiply_s), when the other stream is busy for @p first_s at first. */
double spmmi_terms_pipeline(const spmm_terms_t *terms, int k, double first_s, double arrive_s,
                            double multiply_s);

/* schedule_trial.c */

/** Times executes of the plan with scratch operands. */
typedef struct spmm_schedule_trial spmm_schedule_trial_t;

/** Collective, agreed.  @return SPMM_ERR_MEMORY: no room for the operands on some rank */
spmm_status_t spmmi_schedule_trial_open(spmm_plan_t *plan, spmm_schedule_trial_t **trial);
/** After an exchange failed, before trial_close(): schedule allgather sends from the operands themselves,
 *  which must stay where messages are under way.  NULL-safe; local. */
void spmmi_schedule_trial_give_up(spmm_schedule_trial_t *trial);
/** NULL-safe; local. */
void spmmi_schedule_trial_close(spmm_schedule_trial_t *trial);
/** Seconds of one execute by plan->schedule at the planned width: median of some batches of this
 *  rank, and of them the slowest rank's.  Collective, agreed. */
spmm_status_t spmmi_schedule_trial_measure(spmm_schedule_trial_t *trial, double *seconds);

/* exchange_rows.c: all that moves rows between ranks in an execute. */

/** Cut @p n columns into at most @p chunks slices.  Widths are equal and multiples of 32 where @p n
 *  allows it, else equal, else multiples of 8 but for the last; one slice where widths would differ
 *  and the plan captures graphs.
 *  @return how many */
int spmmi_plan_cut(const spmm_plan_t *plan, int64_t n, int chunks,
                   spmm_slice_t slice[SPMM_MOST_CHUNKS]);

/** Op N: start to bring the halo rows of a slice of x->B to slice->halo; op T: start to send the
 *  rows at slice->halo back.  In the order of @p stream; the rows of B, and for op T those of the
 *  slice, must be there.  Nothing is under way when it fails. */
spmm_status_t spmmi_plan_begin_rows(spmm_plan_t *plan, const spmm_operands_t *x,
                                    const spmm_slice_t *slice, spmm_stream_t stream);
/** Finish it, before the next one begins: what follows mark EXCHANGED of the slice sees the rows. */
spmm_status_t spmmi_plan_end_rows(spmm_plan_t *plan, const spmm_operands_t *x,
                                  const spmm_slice_t *slice, spmm_stream_t stream);
/** The same for all rows of all other ranks, from @p own [own rows x n], packed. */
spmm_status_t spmmi_plan_begin_all_rows(spmm_plan_t *plan, const spmm_slice_t *slice,
                                        const void *own, spmm_stream_t stream);
spmm_status_t spmmi_plan_end_all_rows(spmm_plan_t *plan, const spmm_slice_t *slice, const void *own,
                                      spmm_stream_t stream);

/* products.c: passes over C, on x->stream. */

/** C = beta * C + product with the local block. */
spmm_status_t spmmi_plan_run_local(spmm_plan_t *plan, const spmm_operands_t *x);
/** Op N: C += product of the halo block with slice->halo. */
spmm_status_t spmmi_plan_run_halo(spmm_plan_t *plan, const spmm_operands_t *x,
                                  const spmm_slice_t *slice);
/** Op T: slice->halo = partial rows of C for other ranks. */
spmm_status_t spmmi_plan_run_halo_transposed(spmm_plan_t *plan, const spmm_operands_t *x,
                                             const spmm_slice_t *slice);
/** Op T: C += the partial rows received. */
spmm_status_t spmmi_plan_add_received(spmm_plan_t *plan, const spmm_operands_t *x,
                                      const spmm_slice_t *slice);
/** The slice of this rank's rows of a row-major B, packed, to @p to.  On @p stream. */
spmm_status_t spmmi_plan_copy_own(spmm_plan_t *plan, const spmm_operands_t *x,
                                  const spmm_slice_t *slice, void *to, spmm_stream_t stream);
/** C = beta * C + product of the joined block with @p rows [own and other rows x n], packed. */
spmm_status_t spmmi_plan_run_joined(spmm_plan_t *plan, spmm_blockset_t blockset,
                                    const spmm_operands_t *x, const spmm_slice_t *slice,
                                    const void *rows);

/** The failure that came first. */
static inline spmm_status_t spmmi_first_failure(spmm_status_t first, spmm_status_t second)
{
    return first != SPMM_OK ? first : second;
}

#endif /* SPMM_PLAN_SCHEDULE_H */
