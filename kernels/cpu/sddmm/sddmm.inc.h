/* SPDX-License-Identifier: Apache-2.0 */
/* Sampled dots for one pair of storage types; sddmm.c includes it once for each.
 *
 *   DOT_NAME             name of the function
 *   XY_T, XY_LOAD(x)     storage of X and Y, and its value as ACC_T
 *   S_T, S_LOAD, S_STORE storage of S, and the way to and from ACC_T
 *   ACC_T                type of products and sums
 */
static void DOT_NAME(const spmm_sddmm_args_t *args, int64_t i, int64_t j, int64_t place)
{
    const XY_T *x     = (const XY_T *)args->X + i * args->ldx;
    const XY_T *y     = (const XY_T *)args->Y + j * args->ldy;
    S_T        *s     = (S_T *)args->S + place;
    const ACC_T alpha = (ACC_T)args->alpha, beta = (ACC_T)args->beta;
    ACC_T       part[PARTS] = {0}, sum = 0, product;
    int64_t     k = 0;

    for (; k + PARTS <= args->k; k += PARTS) {
        for (int p = 0; p < PARTS; p++) {
            part[p] += XY_LOAD(x[k + p]) * XY_LOAD(y[k + p]);
        }
    }
    for (int p = 0; k < args->k; k++, p++) {
        part[p] += XY_LOAD(x[k]) * XY_LOAD(y[k]);
    }
    for (int p = 0; p < PARTS; p++) {
        sum += part[p];
    }
    product = alpha * sum;
    *s      = S_STORE(args->beta == 0.0 ? product : product + beta * S_LOAD(*s));
}
#undef DOT_NAME
#undef XY_T
#undef XY_LOAD
#undef S_T
#undef S_LOAD
#undef S_STORE
#undef ACC_T
