/* SPDX-License-Identifier: Apache-2.0 */
/* Any file: .csr, PETSc's, .smtx, gzip or none of them.  The corpora of fuzz_csr, fuzz_petsc and
 * fuzz_smtx start it off. */
#include "fuzz.h"

void spmm_fuzz_one(const uint8_t *data, size_t size)
{
    static const spmm_type_t types[] = {SPMM_TYPE_AUTO, SPMM_R_32F, SPMM_R_16F, SPMM_R_16BF,
                                        SPMM_C_32F};
    spmm_matrix_t           *A       = NULL;
    const spmm_status_t      status =
        spmm_matrix_read(spmm_fuzz_ctx, spmm_fuzz_file(data, size), types[size % 5], 1, &A);

    spmm_fuzz_status(status, spmm_last_error(spmm_fuzz_ctx));
    if (status == SPMM_OK) {
        spmm_fuzz_matrix(A);
    }
    (void)spmm_matrix_destroy(&A);
}
