/* SPDX-License-Identifier: Apache-2.0 */
#include "standins.h"

#include <stdio.h>
#include <string.h>

void write_csr(const char *path, int64_t m, int64_t n, const int32_t *ptr, const int32_t *col)
{
    FILE *f = fopen(path, "wb");
    if (!f) {
        die("cannot open output");
    }
    int64_t h[4] = {0x43535231, m, n, ptr[m]};
    size_t  ok   = fwrite(h, 8, 4, f) + fwrite(ptr, 4, m + 1, f) + fwrite(col, 4, ptr[m], f);
    if (ok != (size_t)(4 + m + 1 + ptr[m]) || fclose(f)) {
        die("write failed");
    }
    int64_t mx = 0, empty = 0;
    for (int64_t i = 0; i < m; i++) {
        int64_t d = ptr[i + 1] - ptr[i];
        if (d > mx) {
            mx = d;
        }
        if (!d) {
            empty++;
        }
        for (int32_t k = ptr[i] + 1; k < ptr[i + 1]; k++) {
            if (col[k] <= col[k - 1]) {
                die("internal: unsorted row");
            }
        }
        if (d && (col[ptr[i]] < 0 || col[ptr[i + 1] - 1] >= n)) {
            die("internal: column out of range");
        }
    }
    printf("%s rows %lld cols %lld nnz %lld avg %.2f max %lld empty %lld\n", path, (long long)m,
           (long long)n, (long long)ptr[m], (double)ptr[m] / m, (long long)mx, (long long)empty);
}

/* sorted unique keys row*n+col */
void write_keys(const char *path, int64_t m, int64_t n, const keys_t *a)
{
    if (a->n > 0x7fffffff) {
        die("nnz does not fit int32");
    }
    int32_t *ptr = calloc(m + 1, 4), *col = take(a->n * 4);
    for (int64_t i = 0; i < a->n; i++) {
        ptr[a->k[i] / n + 1]++;
        col[i] = (int32_t)(a->k[i] % n);
    }
    for (int64_t i = 0; i < m; i++) {
        ptr[i + 1] += ptr[i];
    }
    write_csr(path, m, n, ptr, col);
    free(ptr);
    free(col);
}

/* sorted unique keys lo*n+hi, lo<hi: mirror; two counting passes keep rows sorted */
void write_symmetric(const char *path, int64_t n, const keys_t *a, int diag)
{
    if (2 * a->n + (diag ? n : 0) > 0x7fffffff) {
        die("nnz does not fit int32");
    }
    int32_t *ptr = calloc(n + 2, 4), *col = take((2 * a->n + (diag ? n : 0)) * 4),
            *pos = take((n + 1) * 4);
    for (int64_t i = 0; i < a->n; i++) {
        ptr[a->k[i] / n + 1]++;
        ptr[a->k[i] % n + 1]++;
    }
    if (diag) {
        for (int64_t i = 0; i < n; i++) {
            ptr[i + 1]++;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        ptr[i + 1] += ptr[i];
    }
    memcpy(pos, ptr, (n + 1) * 4);
    for (int64_t i = 0; i < a->n; i++) {
        int64_t u = a->k[i] / n, v = a->k[i] % n;
        col[pos[v]++] = (int32_t)u;
    } /* lower part */
    if (diag) {
        for (int64_t i = 0; i < n; i++) {
            col[pos[i]++] = (int32_t)i;
        }
    }
    for (int64_t i = 0; i < a->n; i++) {
        int64_t u = a->k[i] / n, v = a->k[i] % n;
        col[pos[u]++] = (int32_t)v;
    }
    write_csr(path, n, n, ptr, col);
    free(ptr);
    free(col);
    free(pos);
}
