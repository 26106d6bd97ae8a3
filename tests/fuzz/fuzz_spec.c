/* SPDX-License-Identifier: Apache-2.0 */
/* Generator specs: parsed, and where they are small also generated. */
#include "fuzz.h"

#include <string.h>

#include "matrix/generate/generate.h"

enum { LONGEST = 200, SMALL = 2000 };

void spmm_fuzz_one(const uint8_t *data, size_t size)
{
    spmm_generator_t g;
    char             spec[LONGEST + 1] = "";
    spmm_matrix_t   *A                 = NULL;
    spmm_status_t    parsed, status;

    memcpy(spec, data, size < LONGEST ? size : LONGEST);
    parsed = spmmi_spec_parse(&spmm_fuzz_env.err, spec, size, &g);
    spmm_fuzz_status(parsed, spmm_fuzz_env.err.text);
    if (parsed == SPMM_OK) {
        spmm_fuzz_check(g.rows >= 0 && g.cols >= 0 && g.n_units >= 0 && g.most >= 0, "sizes fit");
        if (g.rows > SMALL || g.cols > SMALL || g.n_units > SMALL || g.most > SMALL ||
            g.n_units * g.most > SMALL) {
            return;
        }
    }
    status = spmm_matrix_generate(spmm_fuzz_ctx, spec, SPMM_R_32F, size, &A);
    spmm_fuzz_status(status, spmm_last_error(spmm_fuzz_ctx));
    spmm_fuzz_check(parsed != SPMM_OK || status == SPMM_OK || status == SPMM_ERR_MEMORY,
                    "what parses can be generated");
    spmm_fuzz_check(parsed == SPMM_OK || status == parsed, "what does not parse is refused");
    if (status == SPMM_OK) {
        spmm_fuzz_matrix(A);
    }
    (void)spmm_matrix_destroy(&A);
}
