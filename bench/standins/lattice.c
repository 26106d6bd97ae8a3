/* SPDX-License-Identifier: Apache-2.0 */
#include "standins.h"

/* qcd: 4-D periodic lattice, 4 spins x 3 colours, exactly 39 per row */
void gen_qcd(const char *out)
{
    int64_t L = parameter("l", 8), T = parameter("t", 8), V = L * L * L * T, n = 12 * V;
    keys_t  a = {0};
    for (int64_t s = 0; s < V; s++) {
        int64_t x[4] = {s % L, s / L % L, s / (L * L) % L, s / (L * L * L)}, nb[8];
        for (int d = 0; d < 4; d++) {
            for (int f = 0; f < 2; f++) {
                int64_t y[4] = {x[0], x[1], x[2], x[3]}, e = d < 3 ? L : T;
                y[d]          = (y[d] + (f ? 1 : e - 1)) % e;
                nb[2 * d + f] = ((y[3] * L + y[2]) * L + y[1]) * L + y[0];
            }
        }
        for (int sp = 0; sp < 4; sp++) {
            for (int co = 0; co < 3; co++) {
                uint64_t r = (uint64_t)(s * 12 + sp * 3 + co) * n;
                for (int c = 0; c < 3; c++) {
                    keys_add(&a, r + s * 12 + sp * 3 + c);
                    for (int q = 0; q < 8; q++) {
                        keys_add(&a, r + nb[q] * 12 + sp * 3 + c);
                    }
                    for (int d = 0; d < 4; d++) {
                        keys_add(&a, r + nb[2 * d + 1] * 12 + (sp ^ (1 + d % 3)) * 3 + c);
                    }
                }
            }
        }
    }
    keys_unique(&a);
    write_keys(out, n, n, &a);
}

void gen_stencil(const char *out)
{
    int64_t nx = parameter("nx", 100), ny = parameter("ny", 100), nz = parameter("nz", 1),
            pts = parameter("pts", 5), n = nx * ny * nz;
    keys_t a = {0};
    for (int64_t p = 0; p < n; p++) {
        int64_t x = p % nx, y = p / nx % ny, z = p / (nx * ny);
        for (int dz = -1; dz <= 1; dz++) {
            for (int dy = -1; dy <= 1; dy++) {
                for (int dx = -1; dx <= 1; dx++) {
                    int s = abs(dx) + abs(dy) + abs(dz);
                    if ((pts == 5 || pts == 7) && s > 1) {
                        continue;
                    }
                    if ((pts == 5 || pts == 9) && dz) {
                        continue;
                    }
                    int64_t X = x + dx, Y = y + dy, Z = z + dz;
                    if (X < 0 || Y < 0 || Z < 0 || X >= nx || Y >= ny || Z >= nz) {
                        continue;
                    }
                    keys_add(&a, (uint64_t)p * n + (Z * ny + Y) * nx + X);
                }
            }
        }
    }
    write_keys(out, n, n, &a);
}

void gen_band(const char *out)
{
    int64_t n = parameter("n", 100000), bw = parameter("bw", 16);
    keys_t  a = {0};
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i - bw < 0 ? 0 : i - bw; j <= i + bw && j < n; j++) {
            keys_add(&a, (uint64_t)i * n + j);
        }
    }
    write_keys(out, n, n, &a);
}
