/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tune/remember.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/scalar.h"
#include "device/calibrate.h"
#include "spmm_dist/context.h"
#include "spmm_dist/version.h"

enum { PIECES = 256 };
static const char title[] = "spmm_dist choice 1";

static bool is_wanted(void)
{
    const char *text = getenv("SPMM_REMEMBER");

    return text == NULL || strcmp(text, "0") != 0;
}

/* Of the whole array, in pieces that threads share; it does not depend on how many. */
static uint64_t digest_of(uint64_t seed, const void *data, size_t bytes, int threads)
{
    uint64_t     piece[PIECES];
    const size_t size = (bytes / PIECES + 1 + 7) / 8 * 8;

#pragma omp parallel for num_threads(threads) if (bytes > (1 << 20))
    for (int k = 0; k < PIECES; k++) {
        const size_t from = (size_t)k * size < bytes ? (size_t)k * size : bytes;
        const size_t left = bytes - from;

        piece[k] =
            spmmi_hash_bytes((uint64_t)k, (const char *)data + from, left < size ? left : size);
    }
    return spmmi_hash_bytes(seed, piece, sizeof piece);
}

static uint64_t pattern_digest(const spmm_csr_t *block, int threads)
{
    const uint64_t rows =
        digest_of(0, block->row_ptr, ((size_t)block->n_rows + 1) * sizeof *block->row_ptr, threads);

    return digest_of(rows, block->col_idx, (size_t)spmmi_csr_nnz(block) * sizeof *block->col_idx,
                     threads);
}

static uint64_t engines_digest(void)
{
    uint64_t h = 0;

    for (int e = 0; e < spmmi_n_engines; e++) {
        h = spmmi_hash_text(h ^ (uint64_t)(spmmi_engines[e]->facts.lacks == NULL),
                            spmmi_engines[e]->facts.name);
    }
    return h;
}

void spmmi_remember_key(const spmm_csr_t *block, const spmm_problem_t *problem,
                        const spmm_device_t *device, bool adds, char key[SPMM_REMEMBER_KEY])
{
    int n = 0;

    key[0] = '\0';
    if (is_wanted()) {
        n = snprintf(key, SPMM_REMEMBER_KEY,
                     "%s engines %016" PRIx64
                     " on %s cc %d code %d sm %d: %s %s compute %d layout %d n "
                     "%" PRId64 " adds %d exact %d; %" PRId32 " x %" PRId32 " of %" PRId32
                     ", %" PRId64 " entries, pattern %016" PRIx64,
                     SPMM_VERSION_STRING, engines_digest(), device->description, device->cc,
                     device->code, device->n_sm, spmmi_type_name(problem->ab_type),
                     spmmi_type_name(problem->c_type), (int)problem->compute, (int)problem->layout,
                     problem->n, adds, problem->exact, block->n_rows, block->n_cols, block->c_rows,
                     spmmi_csr_nnz(block), pattern_digest(block, device->threads));
    }
    if (n >= SPMM_REMEMBER_KEY) {
        key[0] = '\0';
    }
}

static bool path_of(const char *key, char path[SPMM_OUTPUT_PATH])
{
    char name[40];

    (void)snprintf(name, sizeof name, "choice-%016" PRIx64, spmmi_hash_text(0, key));
    return key[0] != '\0' && spmmi_calibrate_path(name, path, SPMM_OUTPUT_PATH);
}

/* Is the next line @p text? */
static bool read_line(FILE *in, const char *text)
{
    char line[SPMM_REMEMBER_KEY + 1];

    return fgets(line, sizeof line, in) != NULL && strncmp(line, text, strlen(text)) == 0 &&
           strcmp(line + strlen(text), "\n") == 0;
}

/* Whole picoseconds, which no locale writes in another way. */
static bool read_winner(FILE *in, spmm_winner_t *winner)
{
    spmm_winner_t read        = {.variant = -1};
    long long     picoseconds = 0;
    char          end         = '\0';

    if (fscanf(in, "engine %31[-a-z0-9] variant %3d takes %15lld%c", read.engine, &read.variant,
               &picoseconds, &end) != 4 ||
        end != '\n' || read.variant < 0 || picoseconds <= 0) {
        return false;
    }
    read.seconds = 1e-12 * (double)picoseconds;
    *winner      = read;
    return true;
}

bool spmmi_remember_load(const char *key, spmm_winner_t *winner)
{
    const char *other;
    char        path[SPMM_OUTPUT_PATH];
    FILE       *in = path_of(key, path) ? spmmi_input_open(path, &other) : NULL;
    bool        good;

    if (in == NULL) {
        return false;
    }
    good = read_line(in, title) && read_line(in, key) && read_winner(in, winner);
    (void)fclose(in);
    return good;
}

bool spmmi_remember_store(const char *key, const spmm_winner_t *winner)
{
    char          path[SPMM_OUTPUT_PATH];
    spmm_output_t out;

    if (!path_of(key, path) || !spmmi_cache_open(path, &out)) {
        return false;
    }
    (void)fprintf(out.stream, "%s\n%s\nengine %s variant %d takes %.0f\n", title, key,
                  winner->engine, winner->variant, winner->seconds * 1e12);
    return spmmi_output_close(&out, true) == 0;
}
