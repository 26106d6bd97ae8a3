/* SPDX-License-Identifier: Apache-2.0 */
/** @file write.c
 *  Writes METIS .part files.  Rank 0 collects the parts piece by piece; the file appears under its
 *  name only when it is whole.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/output.h"
#include "partition/partitioners.h"

/** A file being written by rank 0. */
typedef struct {
    spmm_env_t   *env;
    const char   *path;
    spmm_output_t output;
} writer_t;

static spmm_status_t check_write(const writer_t *out, int error)
{
    return error == 0
               ? SPMM_OK
               : spmmi_fail(&out->env->err, SPMM_ERR_IO, "cannot write partition file '%.200s': %s",
                            out->path, strerror(error));
}

static spmm_status_t open_file(writer_t *out, int32_t **piece)
{
    if (out->env->rank != 0) {
        return SPMM_OK;
    }
    if (SPMM_NEW(*piece, SPMM_PIECE) == NULL) {
        return spmmi_fail_memory(&out->env->err, SPMM_PIECE, sizeof **piece, "a partition");
    }
    return check_write(out, spmmi_output_open(&out->output, out->path, SPMM_OUTPUT_FOLLOW));
}

static spmm_status_t write_piece(const writer_t *out, int32_t count, const int32_t *part)
{
    for (int32_t i = 0; i < count; i++) {
        if (fprintf(out->output.stream, "%" PRId32 "\n", part[i]) < 0) {
            return check_write(out, errno);
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
    const int error = spmmi_output_close(&out->output, status == SPMM_OK);

    return status == SPMM_OK ? check_write(out, error) : status;
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
