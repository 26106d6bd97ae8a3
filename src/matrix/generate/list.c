/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/generate/list.h"

const spmm_generator_kind_t *const spmmi_generator_kinds[] = {
    &spmmi_generator_rmat,      &spmmi_generator_uniform,   &spmmi_generator_banded,
    &spmmi_generator_stencil5,  &spmmi_generator_stencil7,  &spmmi_generator_stencil9,
    &spmmi_generator_stencil27, &spmmi_generator_molecules, &spmmi_generator_pruned,
    &spmmi_generator_xdys,
};
const int spmmi_n_generator_kinds = sizeof spmmi_generator_kinds / sizeof *spmmi_generator_kinds;
