/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/schedule/terms.h"

#include <math.h>

double spmmi_terms_pipeline(const spmm_terms_t *terms, int k, double first_s, double arrive_s,
                            double multiply_s)
{
    double arrived = 0.0, done = first_s;

    if (!terms->concurrent) {
        return first_s + k * (arrive_s + multiply_s);
    }
    for (int c = 0; c < k; c++) {
        arrived += arrive_s;
        done = fmax(done, arrived + terms->hop_s) + multiply_s;
    }
    return done;
}
