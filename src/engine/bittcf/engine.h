/* SPDX-License-Identifier: Apache-2.0 */
/** @file engine.h  What benchmarks of the BitTCF kernels take of their engines. */
#ifndef SPMM_ENGINE_BITTCF_ENGINE_H
#define SPMM_ENGINE_BITTCF_ENGINE_H

#include "engine/bittcf/args.h"
#include "engine/tc/engine.h"

/** That of the engines bittcf and dmma. */
extern const spmm_tc_kind_t spmmi_tc_kind_bittcf;

/** Its create() with the height of windows given: 1 or 2 tiles. */
spmm_status_t spmmi_bittcf_fill(spmm_tc_engine_t *f, const spmm_csr_t *block, int32_t tiles);

#endif /* SPMM_ENGINE_BITTCF_ENGINE_H */
