/* SPDX-License-Identifier: Apache-2.0 */
/** @file upload.h  From a block to the format that a kernel takes. */
#ifndef SPMM_ENGINE_SDDMM_UPLOAD_H
#define SPMM_ENGINE_SDDMM_UPLOAD_H

#include "engine/sddmm/sddmm.h"

/** Choose a format of @p block and put its arrays on the device of @p sampler, which owns them.
 *  @param[in] place  as in spmmi_sampler_create() */
spmm_status_t spmmi_sampler_make_format(spmm_sampler_t *sampler, const spmm_csr_t *block,
                                        const int64_t *place, const spmm_sampling_t *what);

#endif /* SPMM_ENGINE_SDDMM_UPLOAD_H */
