/* SPDX-License-Identifier: Apache-2.0 */
/** @file tries.h
 *  The fastest of several formats of one block, found by the caller's own products.  Each of these
 *  runs one of the formats, with events around it on the caller's stream; nobody waits for them:
 *  what they say is read in later products.  Where the times of all earlier ones are known, the
 *  device may be idle: it is kept busy for 20 us first, so that the launches of the host are not
 *  in the time.
 *
 *      two products each, of which the second is timed; who takes 1.5 times the least is dropped
 *      of each that is left one product more to warm up, and five that count
 *      the least median wins
 *
 *  A product that comes before the times it should go by are known runs the first format, or the
 *  best known, and is not timed.  Everything here is local.
 */
#ifndef SPMM_ENGINE_TRIES_H
#define SPMM_ENGINE_TRIES_H

#include "engine/choose/remember.h"

enum {
    SPMM_MOST_TRIES   = 7,  /**< formats, the first one included */
    SPMM_TRY_SAMPLES  = 5,  /**< products of one that count */
    SPMM_TRY_PRODUCTS = 64, /**< behind so many the choice stands, whatever is known */
    SPMM_MOST_PENDING = SPMM_MOST_TRIES * SPMM_TRY_SAMPLES
};

/** One format. */
typedef struct {
    spmm_candidate_t *candidate; /**< borrowed, of the block's list */
    void             *format;    /**< owned */
    int               variant;
    bool              dropped;
    int               turns;                         /**< products given to it for its time */
    int               known;                         /**< times in seconds */
    double            seconds[1 + SPMM_TRY_SAMPLES]; /**< of its first product, and of those that
                                                          count */
    spmm_event_t     *from[SPMM_TRY_SAMPLES], *to[SPMM_TRY_SAMPLES];
} spmm_try_t;

typedef struct {
    const spmm_device_t *device;
    spmm_try_t           of[SPMM_MOST_TRIES]; /**< the best predicted first */
    int                  count;
    bool                 open;     /**< products may be tried with */
    bool                 adds;     /**< beta of what is timed is not 0 */
    bool                 has_beta; /**< adds is set */
    int                  at;       /**< what runs; once the choice stands, the winner */
    bool                 timing;   /**< its next execute is timed */
    int64_t              products; /**< so far */
    int64_t              since;    /**< product from which on the choice stands; 0: not yet */
    bool                 whole;    /**< it stands on all the times asked for */
    char                 key[SPMM_REMEMBER_KEY]; /**< of the choice; "": not to be remembered */
    int                  head, n_pending;        /**< a ring: timed, not yet known, as enqueued */
    int                  pending[SPMM_MOST_PENDING]; /**< number of the format */
} spmm_tries_t;

/** Without formats.  Local. */
spmm_status_t spmmi_tries_create(const spmm_device_t *device, spmm_tries_t **tries);

/** Take one more format over, as long as count < SPMM_MOST_TRIES.
 *  @return when it fails, the format is still the caller's */
spmm_status_t spmmi_tries_add(spmm_tries_t *tries, spmm_candidate_t *candidate, void *format,
                              int variant);

/** A product begins: read the times that are there, and see what it runs.
 *  @param[in] typical  of the planned width
 *  @param[in] adds     its beta is not 0 */
spmm_status_t spmmi_tries_begin(spmm_tries_t *tries, bool typical, bool adds);

/** Enqueue the product, or a slice of its columns, of which the first is timed.  A format that
 *  refuses it leaves the contest, and the first takes its place. */
spmm_status_t spmmi_tries_execute(spmm_tries_t *tries, const spmm_operands_t *x);

/** Read what times there are; let the choice stand where they suffice.  Waits for nothing. */
spmm_status_t spmmi_tries_read(spmm_tries_t *tries);

/** Median of its times that count, else that of its first product; NaN: none is known. */
double spmmi_try_seconds(const spmm_try_t *one);

/** Let later plans know the winner, where all its times were taken.  Writes a file: not in an
 *  execute. */
void spmmi_tries_remember(const spmm_tries_t *tries);

/** Free everything but the format in use, which is the caller's from here on; waits for the
 *  device.  NULL-safe. */
void spmmi_tries_free(spmm_tries_t *tries);

#endif /* SPMM_ENGINE_TRIES_H */
