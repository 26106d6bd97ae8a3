/* SPDX-License-Identifier: Apache-2.0 */
/** @file spec.h  The text form of a generator, `kind:key=value,key=value`. */
#ifndef SPMM_MATRIX_GENERATE_SPEC_H
#define SPMM_MATRIX_GENERATE_SPEC_H

#include "matrix/generate/generate.h"

/** Parse and size @p spec.  A pure function of its arguments: no locale, no allocation, no I/O.
 *  @param[in]  spec  NUL-terminated, any bytes; NULL is refused
 *  @return SPMM_ERR_ARGUMENT with the offending part and what is known instead */
spmm_status_t spmmi_spec_parse(spmm_error_t *err, const char *spec, uint64_t seed,
                               spmm_generator_t *generator);

#endif /* SPMM_MATRIX_GENERATE_SPEC_H */
