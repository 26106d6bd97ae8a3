/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/roofline.h"

double spmm_gather_rate(double bytes)
{
    static const struct {
        double bytes, rate;
    } table[]      = {{48e6, 2.05}, {64e6, 1.67}, {128e6, 1.33}, {512e6, 1.12}, {2048e6, 1.05}};
    const int last = (int)(sizeof table / sizeof table[0]) - 1;

    if (bytes <= table[0].bytes) {
        return table[0].rate; /* constant outside the table */
    }
    for (int k = 1; k <= last; k++) {
        if (bytes <= table[k].bytes) {
            const double t = (bytes - table[k - 1].bytes) / (table[k].bytes - table[k - 1].bytes);

            return table[k - 1].rate + t * (table[k].rate - table[k - 1].rate);
        }
    }
    return table[last].rate;
}
