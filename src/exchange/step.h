/* SPDX-License-Identifier: Apache-2.0 */
/** @file step.h  Sentences about rows that are not those which were expected. */
#ifndef SPMM_EXCHANGE_STEP_H
#define SPMM_EXCHANGE_STEP_H

#include "exchange/transport.h"

/** SPMM_ERR_COMM: what rank @p peer has sent is of another step than what was expected. */
spmm_status_t spmmi_fail_step(spmm_env_t *env, int peer, uint32_t came, uint32_t expected);
/** SPMM_ERR_COMM: it is of another length.  @p of: "more than " where no more is
 *  known, "rows of " where these are the bytes of one row, or "" */
spmm_status_t spmmi_fail_bytes_came(spmm_env_t *env, int peer, const char *of, size_t came,
                                    size_t expected);

#endif /* SPMM_EXCHANGE_STEP_H */
