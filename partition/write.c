/* SPDX-License-Identifier: Apache-2.0 */
/** @file write.c
 *  Writes METIS .part files.  Rank 0 collects the parts piece by piece; the file appears under its
 *  name only when it is whole.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "partition/partitioners.h"

/** A file being written by rank 0. */
typedef struct {
    spmm_env_t *env;
    const char *path;
    char       *temporary; /**< renamed to path at the end, owned; NULL: written in place */
    FILE       *file;
} writer_t;

static spmm_status_t fail_write(const writer_t *out)
{
    return spmmi_fail(&out->env->err, SPMM_ERR_IO, "cannot write partition file '%.200s': %s",
                      out->path, strerror(errno));
}

/* Devices and pipes are written in place: a rename would replace them. */
static bool is_special(const char *path)
{
    struct stat facts;

    return stat(path, &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode);
}

static spmm_status_t open_file(writer_t *out, int32_t **piece)
{
    const size_t length = strlen(out->path) + 32;

    if (out->env->rank != 0) {
        return SPMM_OK;
    }
    if (SPMM_NEW(*piece, SPMM_PIECE) == NULL) {
        return spmmi_fail_memory(&out->env->err, SPMM_PIECE, sizeof **piece, "a partition");
    }
    if (is_special(out->path)) {
        out->file = fopen(out->path, "w");
    } else {
        if (SPMM_NEW(out->temporary, (int64_t)length) == NULL) {
            return spmmi_fail_memory(&out->env->err, (int64_t)length, 1, "a file name");
        }
        (void)snprintf(out->temporary, length, "%s.%ld.tmp", out->path, (long)getpid());
        out->file = fopen(out->temporary, "wx");
    }
    return out->file == NULL ? fail_write(out) : SPMM_OK;
}

static spmm_status_t write_piece(const writer_t *out, int32_t count, const int32_t *part)
{
    for (int32_t i = 0; i < count; i++) {
        if (fprintf(out->file, "%" PRId32 "\n", part[i]) < 0) {
            return fail_write(out);
        }
    }
    return SPMM_OK;
}

/* Rank 0 takes and writes the parts of all, piece by piece; what goes wrong with one all learn
 * before the next.  @p piece is scratch of rank 0 [SPMM_PIECE].  Agreed but for the last piece. */
static spmm_status_t collect(const spmm_matrix_t *A, const writer_t *out, const int32_t *row_part,
                             int32_t *piece)
{
    spmm_env_t   *env    = A->env;
    spmm_status_t status = SPMM_OK;

    for (int p = 0; p < env->size; p++) {
        const int64_t rows = A->row_offset[p + 1] - A->row_offset[p];

        for (int64_t at = 0; at < rows; at += SPMM_PIECE) {
            const int32_t count = (int32_t)(rows - at < SPMM_PIECE ? rows - at : SPMM_PIECE);
            const size_t  bytes = (size_t)count * sizeof *piece;

            SPMM_TRY(spmmi_agree(env, status));
            if (p != 0 && env->rank == p) {
                status = spmmi_send_bytes(env, row_part + at, bytes, 0);
            } else if (p != 0 && env->rank == 0) {
                status = spmmi_recv_bytes(env, piece, bytes, p);
            }
            if (env->rank == 0 && status == SPMM_OK) {
                status = write_piece(out, count, p == 0 ? row_part + at : piece);
            }
        }
    }
    return status;
}

/* Close and, when all went well, give the file its name. */
static spmm_status_t finish(writer_t *out, spmm_status_t status)
{
    if (out->file != NULL) {
        /* A full disk may show only here. */
        if (status == SPMM_OK &&
            (fflush(out->file) != 0 || (out->temporary != NULL && fsync(fileno(out->file)) != 0))) {
            status = fail_write(out);
        }
        if (fclose(out->file) != 0 && status == SPMM_OK) {
            status = fail_write(out);
        }
        if (out->temporary != NULL) {
            if (status == SPMM_OK && rename(out->temporary, out->path) != 0) {
                status = fail_write(out);
            }
            if (status != SPMM_OK) {
                (void)unlink(out->temporary);
            }
        }
    }
    spmmi_free(out->temporary);
    return status;
}

spmm_status_t spmmi_partition_write(const spmm_matrix_t *A, const int32_t *row_part,
                                    const char *path)
{
    writer_t      out   = {.env = A->env, .path = path};
    int32_t      *piece = NULL;
    spmm_status_t status;

    status = spmmi_agree(A->env, open_file(&out, &piece));
    if (status == SPMM_OK) {
        status = spmmi_agree(A->env, finish(&out, collect(A, &out, row_part, piece)));
    } else {
        (void)finish(&out, status);
    }
    spmmi_free(piece);
    return status;
}
