/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/generate_list.h"

const spmm_generator_kind_t *const spmm_generator_kinds[] = {
    &spmm_generator_rmat,      &spmm_generator_uniform,   &spmm_generator_banded,
    &spmm_generator_stencil5,  &spmm_generator_stencil7,  &spmm_generator_stencil9,
    &spmm_generator_stencil27, &spmm_generator_molecules, &spmm_generator_pruned,
    &spmm_generator_xdys,
};
const int spmm_n_generator_kinds = sizeof spmm_generator_kinds / sizeof *spmm_generator_kinds;
