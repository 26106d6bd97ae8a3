/* SPDX-License-Identifier: Apache-2.0 */
/** @file list.h  The kinds, one line each. */
#ifndef SPMM_MATRIX_GENERATE_LIST_H
#define SPMM_MATRIX_GENERATE_LIST_H

#include "matrix/generate/generate.h"

extern const spmm_generator_kind_t spmmi_generator_rmat;
extern const spmm_generator_kind_t spmmi_generator_uniform;
extern const spmm_generator_kind_t spmmi_generator_banded;
extern const spmm_generator_kind_t spmmi_generator_stencil5;
extern const spmm_generator_kind_t spmmi_generator_stencil7;
extern const spmm_generator_kind_t spmmi_generator_stencil9;
extern const spmm_generator_kind_t spmmi_generator_stencil27;
extern const spmm_generator_kind_t spmmi_generator_molecules;
extern const spmm_generator_kind_t spmmi_generator_pruned;
extern const spmm_generator_kind_t spmmi_generator_xdys;

#endif /* SPMM_MATRIX_GENERATE_LIST_H */
