/* SPDX-License-Identifier: Apache-2.0 */
/** @file small_dense.h
 *  The generalised symmetric eigenproblem H y = theta G y of a Rayleigh-Ritz step, a few dozen
 *  rows, row-major: Cholesky factorisation of G and cyclic Jacobi rotations (Golub and Van Loan,
 *  section 8.5).  A program in production calls LAPACK's dsygv here.
 */
#ifndef SMALL_DENSE_H
#define SMALL_DENSE_H

#include <math.h>
#include <stdlib.h>

/* G = L L^T, L over the lower triangle; -1 where G is not safely positive definite (its diagonal
 * is 1, so a small pivot says that a column of the basis nearly depends on those before it). */
static inline int small_cholesky(int n, double *G)
{
    for (int j = 0; j < n; j++) {
        for (int i = j; i < n; i++) {
            double sum = G[i * n + j];

            for (int k = 0; k < j; k++) {
                sum -= G[i * n + k] * G[j * n + k];
            }
            if (i == j && !(sum > 1e-12)) {
                return -1;
            }
            G[i * n + j] = i == j ? sqrt(sum) : sum / G[j * n + j];
        }
    }
    return 0;
}

/* Symmetric H to diagonal by rotations; V [n x n] is multiplied from the right by all of them. */
static inline void small_jacobi(int n, double *H, double *V)
{
    for (int sweep = 0; sweep < 30; sweep++) {
        double off = 0.0, diagonal = 0.0;

        for (int p = 0; p < n; p++) {
            diagonal += H[p * n + p] * H[p * n + p];
            for (int q = p + 1; q < n; q++) {
                off += H[p * n + q] * H[p * n + q];
            }
        }
        if (off <= 1e-30 * diagonal) {
            return;
        }
        for (int p = 0; p < n; p++) {
            for (int q = p + 1; q < n; q++) {
                if (H[p * n + q] == 0.0) {
                    continue;
                }
                const double tau = (H[q * n + q] - H[p * n + p]) / (2.0 * H[p * n + q]);
                const double t   = copysign(1.0, tau) / (fabs(tau) + sqrt(1.0 + tau * tau));
                const double c = 1.0 / sqrt(1.0 + t * t), s = t * c;

                for (int k = 0; k < n; k++) { /* columns p and q of H and V */
                    const double hp = H[k * n + p], hq = H[k * n + q];
                    const double vp = V[k * n + p], vq = V[k * n + q];

                    H[k * n + p] = c * hp - s * hq;
                    H[k * n + q] = s * hp + c * hq;
                    V[k * n + p] = c * vp - s * vq;
                    V[k * n + q] = s * vp + c * vq;
                }
                for (int k = 0; k < n; k++) { /* rows p and q of H */
                    const double hp = H[p * n + k], hq = H[q * n + k];

                    H[p * n + k] = c * hp - s * hq;
                    H[q * n + k] = s * hp + c * hq;
                }
            }
        }
    }
}

/* The m smallest eigenpairs of H y = theta G y: theta ascending, Y [n x m] with Y^T G Y = 1.  H and
 * G are overwritten, work is [2 n n].  -1 where the basis behind G is nearly dependent. */
static inline int small_rayleigh_ritz(int n, int m, double *H, double *G, double *work,
                                      double *theta, double *Y)
{
    double *scale = work, *V = work + (size_t)n * (size_t)n; /* V becomes scale L^-T (rotations) */

    for (int i = 0; i < n; i++) { /* to unit diagonal: columns of any length are alike */
        scale[i] = 1.0 / sqrt(G[i * n + i]);
        if (!isfinite(scale[i])) {
            return -1;
        }
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            G[i * n + j] *= scale[i] * scale[j];
            H[i * n + j] *= scale[i] * scale[j];
            V[i * n + j] = i == j ? scale[i] : 0.0;
        }
    }
    if (small_cholesky(n, G) != 0) {
        return -1;
    }
    for (int i = 0; i < n; i++) { /* H <- L^-1 H, by rows; then H L^-T and V L^-T, by columns */
        for (int k = 0; k < i; k++) {
            for (int j = 0; j < n; j++) {
                H[i * n + j] -= G[i * n + k] * H[k * n + j];
            }
        }
        for (int j = 0; j < n; j++) {
            H[i * n + j] /= G[i * n + i];
        }
    }
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < n; i++) {
            for (int k = 0; k < j; k++) {
                H[i * n + j] -= G[j * n + k] * H[i * n + k];
                V[i * n + j] -= G[j * n + k] * V[i * n + k];
            }
            H[i * n + j] /= G[j * n + j];
            V[i * n + j] /= G[j * n + j];
        }
    }
    small_jacobi(n, H, V);
    for (int j = 0; j < m; j++) { /* select the m smallest, marking each as taken */
        int best = 0;

        for (int i = 1; i < n; i++) {
            best = H[i * n + i] < H[best * n + best] ? i : best;
        }
        theta[j]           = H[best * n + best];
        H[best * n + best] = INFINITY;
        for (int i = 0; i < n; i++) {
            Y[i * m + j] = V[i * n + best];
        }
    }
    return 0;
}

#endif /* SMALL_DENSE_H */
