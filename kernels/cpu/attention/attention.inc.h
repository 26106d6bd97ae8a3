/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse attention in one storage type; attention.c includes it once for each.
 *
 *   NAME(x)          name of a function for the type
 *   X_T              storage of Q, K, V and O
 *   LOAD(x), STORE(x)  to and from ACC_T
 *   ACC_T            type of products, sums and stats
 *   EXP, LOG         in ACC_T
 *
 * A row is worked on in runs of RUN columns, whose sums stay in registers; scores are computed anew
 * for each run, and once before to find the sum of exponentials.
 */
static ACC_T NAME(dot)(const X_T *x, const X_T *y, int64_t k)
{
    ACC_T   part[PARTS] = {0}, sum = 0;
    int64_t c = 0;

    for (; c + PARTS <= k; c += PARTS) {
        for (int p = 0; p < PARTS; p++) {
            part[p] += LOAD(x[c + p]) * LOAD(y[c + p]);
        }
    }
    for (int p = 0; c < k; c++, p++) {
        part[p] += LOAD(x[c]) * LOAD(y[c]);
    }
    for (int p = 0; p < PARTS; p++) {
        sum += part[p];
    }
    return sum;
}

/* sum += weight * x, n elements. */
static void NAME(add)(ACC_T *sum, ACC_T weight, const X_T *x, int64_t n)
{
    for (int64_t c = 0; c < n; c++) {
        sum[c] += weight * LOAD(x[c]);
    }
}

/* Log of the sum of exponentials of the scores of q, and of what is resumed. */
static ACC_T NAME(lse)(const list_t *row, const X_T *q, const X_T *K,
                       const spmm_attention_args_t *a, ACC_T before)
{
    ACC_T most = before, sum = before == -(ACC_T)INFINITY ? 0 : 1;

    for (int64_t e = 0; e < row->count; e++) {
        const ACC_T score = (ACC_T)a->scale * NAME(dot)(q, K + row->col[e] * a->ldk, a->k);

        if (score > most) {
            sum  = sum * EXP(most - score) + 1;
            most = score;
        } else if (score != -(ACC_T)INFINITY) {
            sum += EXP(score - most);
        }
    }
    return most + LOG(sum);
}

static void NAME(forward)(const list_t *row, int64_t i, int64_t head,
                          const spmm_attention_args_t *a)
{
    const X_T  *q = (const X_T *)a->Q + i * a->ldq + head * a->k;
    const X_T  *K = (const X_T *)a->K + head * a->k, *V = (const X_T *)a->V + head * a->k;
    X_T        *o       = (X_T *)a->O + i * a->ldo + head * a->k;
    ACC_T      *lse     = (ACC_T *)a->lse + i * a->heads + head, sum[RUN];
    const ACC_T before  = a->resume ? *lse : -(ACC_T)INFINITY;
    const ACC_T now     = NAME(lse)(row, q, K, a, before);
    const bool  nothing = now == -(ACC_T)INFINITY;
    const ACC_T kept    = before == -(ACC_T)INFINITY ? 0 : EXP(before - now);

    for (int64_t c = 0; c < a->k; c += RUN) {
        const int64_t n = a->k - c < RUN ? a->k - c : RUN;

        for (int64_t j = 0; j < n; j++) {
            sum[j] = kept == 0 ? 0 : kept * LOAD(o[c + j]);
        }
        for (int64_t e = 0; e < row->count && !nothing; e++) {
            const ACC_T score = (ACC_T)a->scale * NAME(dot)(q, K + row->col[e] * a->ldk, a->k);

            NAME(add)(sum, EXP(score - now), V + row->col[e] * a->ldv + c, n);
        }
        for (int64_t j = 0; j < n; j++) {
            o[c + j] = STORE(sum[j]);
        }
    }
    *lse = now;
}

static void NAME(stats)(int64_t i, int64_t head, const spmm_attention_stats_t *a)
{
    ACC_T *const  stats = (ACC_T *)a->stats + i * 2 * a->heads + head;
    const int64_t at    = i * a->ldo + head * a->k;

    stats[0]        = ((const ACC_T *)a->lse)[i * a->heads + head];
    stats[a->heads] = NAME(dot)((const X_T *)a->O + at, (const X_T *)a->dO + at, a->k);
}

/** Entry (i, j) of one head: what its gradients multiply with. */
static void NAME(entry)(const spmm_attention_gradient_t *a, int64_t i, int64_t j, int64_t head,
                        ACC_T *p, ACC_T *s)
{
    const ACC_T  *stats = (const ACC_T *)a->stats + i * 2 * a->heads + head;
    const int64_t h     = head * a->k;
    const ACC_T   score =
        NAME(dot)((const X_T *)a->Q + i * a->ldq + h, (const X_T *)a->K + j * a->ldk + h, a->k);
    const ACC_T slope =
        NAME(dot)((const X_T *)a->dO + i * a->ldo + h, (const X_T *)a->V + j * a->ldv + h, a->k);

    *p = EXP((ACC_T)a->scale * score - stats[0]);
    *s = (ACC_T)a->scale * *p * (slope - stats[a->heads]);
}

static void NAME(start)(ACC_T *sum, const X_T *from, int64_t n, bool resume)
{
    for (int64_t j = 0; j < n; j++) {
        sum[j] = resume ? LOAD(from[j]) : 0;
    }
}

static void NAME(finish)(X_T *to, const ACC_T *sum, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        to[j] = STORE(sum[j]);
    }
}

static void NAME(query)(const list_t *row, int64_t i, int64_t head,
                        const spmm_attention_gradient_t *a)
{
    X_T *const dq = (X_T *)a->dQ + i * a->ldq + head * a->k;
    ACC_T      sum[RUN], p, s;

    for (int64_t c = 0; c < a->k; c += RUN) {
        const int64_t n = a->k - c < RUN ? a->k - c : RUN;

        NAME(start)(sum, dq + c, n, a->resume);
        for (int64_t e = 0; e < row->count; e++) {
            NAME(entry)(a, i, row->col[e], head, &p, &s);
            NAME(add)(sum, s, (const X_T *)a->K + row->col[e] * a->ldk + head * a->k + c, n);
        }
        NAME(finish)(dq + c, sum, n);
    }
}

static void NAME(key)(const list_t *row, int64_t j, int64_t head,
                      const spmm_attention_gradient_t *a)
{
    X_T *const dk = (X_T *)a->dK + j * a->ldk + head * a->k;
    X_T *const dv = (X_T *)a->dV + j * a->ldv + head * a->k;
    ACC_T      sum_k[RUN], sum_v[RUN], p, s;

    for (int64_t c = 0; c < a->k; c += RUN) {
        const int64_t n = a->k - c < RUN ? a->k - c : RUN;

        NAME(start)(sum_k, dk + c, n, a->resume);
        NAME(start)(sum_v, dv + c, n, a->resume);
        for (int64_t e = 0; e < row->count; e++) {
            const int64_t i = row->col[e];

            NAME(entry)(a, i, j, head, &p, &s);
            NAME(add)(sum_k, s, (const X_T *)a->Q + i * a->ldq + head * a->k + c, n);
            NAME(add)(sum_v, p, (const X_T *)a->dO + i * a->ldo + head * a->k + c, n);
        }
        NAME(finish)(dk + c, sum_k, n);
        NAME(finish)(dv + c, sum_v, n);
    }
}
#undef NAME
#undef X_T
#undef LOAD
#undef STORE
#undef ACC_T
#undef EXP
#undef LOG
