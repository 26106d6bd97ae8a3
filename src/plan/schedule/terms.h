/* SPDX-License-Identifier: Apache-2.0 */
/** @file terms.h  The times that predictions of schedules are made of. */
#ifndef SPMM_PLAN_TERMS_H
#define SPMM_PLAN_TERMS_H

#include <stdbool.h>

#include "plan/product/rows.h"

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

    spmm_chunk_terms_t chunk[SPMM_MOST_CHUNKS + 1]; /**< [k]; k = 0 is unused */
} spmm_terms_t;

/** Seconds of @p k chunks, each packed and exchanged (@p arrive_s) and then multiplied
 *  (@p multiply_s), when the other stream is busy for @p first_s at first. */
double spmmi_terms_pipeline(const spmm_terms_t *terms, int k, double first_s, double arrive_s,
                            double multiply_s);

#endif /* SPMM_PLAN_TERMS_H */
