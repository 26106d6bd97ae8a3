/* SPDX-License-Identifier: Apache-2.0 */
/** @file write.c
 *  Binary files of rows, written by all ranks through MPI-IO: rank 0 makes a temporary file, each
 *  rank writes its rows where they belong, and rank 0 gives the file its name.
 */
#include "matrix/write/write.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "base/output.h"
#include "base/scalar.h"
#include "matrix/read/binary.h"

enum { PIECE = 1 << 18 /* numbers in memory at a time */, WIDEST = 8 };

/* Formats by the ends of their names; the first end names the format, too. */
static const struct {
    const char            *end[2];
    spmm_binary_describe_t describe;
} formats[] = {
    {{"csr", NULL}, spmmi_csr_file_describe},
    {{"petsc", "petscbin"}, spmmi_petsc_file_describe},
};
enum { FORMATS = sizeof formats / sizeof *formats };

typedef struct {
    const spmm_matrix_t *A;
    const char          *path;
    spmm_binary_t        b;
    unsigned char        head[SPMM_FILE_HEAD];
    spmm_output_t        output; /* on rank 0 */
    MPI_File             handle;
    unsigned char       *raw;   /* [PIECE * WIDEST], owned */
    int64_t              first; /* entries on lower ranks */
} writer_t;

static spmm_status_t fail_write(const writer_t *w, const char *why)
{
    return spmmi_fail(&w->A->env->err, SPMM_ERR_IO, "cannot write " SPMM_PATH_SHOWN ": %.160s",
                      w->path, why);
}

static spmm_status_t check_mpi(const writer_t *w, int code)
{
    char why[MPI_MAX_ERROR_STRING] = "unknown error";
    int  length                    = 0;

    if (code == MPI_SUCCESS) {
        return SPMM_OK;
    }
    (void)MPI_Error_string(code, why, &length);
    return fail_write(w, why);
}

static spmm_status_t find_format(writer_t *w, const char *name)
{
    const spmm_matrix_t *A     = w->A;
    const char          *dot   = strrchr(w->path, '.');
    const bool           named = name != NULL && name[0] != '\0';
    const char          *end   = named ? name : dot == NULL ? "" : dot + 1;
    const spmm_type_t    part  = spmmi_is_complex(A->type) ? spmmi_part_type(A->type) : A->type;
    const spmm_binary_t  shape = {.rows  = A->rows,
                                  .cols  = A->cols,
                                  .nnz   = A->nnz,
                                  .parts = spmmi_is_complex(A->type) ? 2 : 1};

    for (int f = 0; f < FORMATS; f++) {
        for (int k = 0; k < 2 && formats[f].end[k] != NULL; k++) {
            if (strcasecmp(end, formats[f].end[k]) == 0) {
                return formats[f].describe(A->env, &shape, part == SPMM_R_64F ? 8 : 4, w->head,
                                           &w->b);
            }
        }
    }
    return spmmi_fail(&A->env->err, SPMM_ERR_ARGUMENT,
                      "'%.64s' is none of the formats that matrices are written in: csr and petsc "
                      "(also .petscbin)",
                      end);
}

/* The temporary file, on rank 0. */
static spmm_status_t open_output(writer_t *w)
{
    const int error = spmmi_output_open(&w->output, w->path, SPMM_OUTPUT_FILE);

    if (error == ESPIPE) {
        return fail_write(w, "it is a device or pipe, and ranks write a file in parallel");
    }
    return error == 0 ? SPMM_OK : fail_write(w, strerror(error));
}

static spmm_status_t open_shared(writer_t *w, const char *temporary)
{
    SPMM_TRY(check_mpi(
        w, MPI_File_open(MPI_COMM_SELF, temporary, MPI_MODE_WRONLY, MPI_INFO_NULL, &w->handle)));
    (void)MPI_File_set_errhandler(w->handle, MPI_ERRORS_RETURN);
    if (SPMM_NEW(w->raw, (int64_t)PIECE * WIDEST) == NULL) {
        return spmmi_fail_memory(&w->A->env->err, PIECE, WIDEST, "a piece of a file");
    }
    return SPMM_OK;
}

static spmm_status_t put(const writer_t *w, int64_t at, const void *bytes, int64_t count)
{
    MPI_Status done;
    int        written = 0;

    SPMM_TRY(check_mpi(
        w, MPI_File_write_at(w->handle, (MPI_Offset)at, bytes, (int)count, MPI_BYTE, &done)));
    SPMM_MPI(w->A->env, MPI_Get_count(&done, MPI_BYTE, &written));
    return written == (int)count ? SPMM_OK : fail_write(w, strerror(ENOSPC));
}

/* Row @p i of the rows + 1 offsets or of the lengths. */
static int64_t row_number(const writer_t *w, int64_t i)
{
    const int64_t *row_ptr = w->A->row_ptr;

    return w->b.lengths ? row_ptr[i + 1] - row_ptr[i] : w->first + row_ptr[i];
}

static spmm_status_t write_rows(const writer_t *w)
{
    const spmm_matrix_t *A     = w->A;
    const int            width = w->b.row.width;
    const bool           last  = A->env->rank == A->env->size - 1;
    const int64_t        count = A->n_rows + (last && !w->b.lengths ? 1 : 0);
    int64_t              part;

    for (int64_t i = 0; i < count; i += part) {
        part = count - i < PIECE ? count - i : PIECE;
        for (int64_t k = 0; k < part; k++) {
            spmmi_binary_encode(row_number(w, i + k), width, w->b.big_endian, w->raw + k * width);
        }
        SPMM_TRY(
            put(w, w->b.row.at + (A->row_offset[A->env->rank] + i) * width, w->raw, part * width));
    }
    return SPMM_OK;
}

static spmm_status_t write_columns(const writer_t *w)
{
    const int64_t nnz   = spmmi_matrix_local_nnz(w->A);
    const int     width = w->b.col.width;
    int64_t       part;

    for (int64_t i = 0; i < nnz; i += part) {
        part = nnz - i < PIECE ? nnz - i : PIECE;
        for (int64_t k = 0; k < part; k++) {
            spmmi_binary_encode(w->A->col_idx[i + k], width, w->b.big_endian, w->raw + k * width);
        }
        SPMM_TRY(put(w, w->b.col.at + (w->first + i) * width, w->raw, part * width));
    }
    return SPMM_OK;
}

static spmm_status_t write_values(const writer_t *w)
{
    const spmm_matrix_t *A     = w->A;
    const int            parts = w->b.parts, width = w->b.part.width;
    const spmm_type_t    type  = parts == 2 ? spmmi_part_type(A->type) : A->type;
    const int64_t        count = spmmi_matrix_local_nnz(A) * parts;
    int64_t              piece;

    for (int64_t i = 0; i < count; i += piece) {
        piece = count - i < PIECE ? count - i : PIECE;
        for (int64_t k = 0; k < piece; k++) {
            spmmi_binary_encode_real(spmmi_value_get(type, A->values, i + k), width,
                                     w->b.big_endian, w->raw + k * width);
        }
        SPMM_TRY(put(w, w->b.part.at + (w->first * parts + i) * width, w->raw, piece * width));
    }
    return SPMM_OK;
}

/* This rank's part; the file is whole on the disk when it is closed.  Local. */
static spmm_status_t write_part(writer_t *w)
{
    spmm_status_t status = SPMM_OK;

    if (w->A->env->rank == 0) {
        status = put(w, 0, w->head, w->b.row.at);
    }
    if (status == SPMM_OK) {
        status = write_rows(w);
    }
    if (status == SPMM_OK) {
        status = write_columns(w);
    }
    if (status == SPMM_OK) {
        status = write_values(w);
    }
    if (status == SPMM_OK) {
        status = check_mpi(w, MPI_File_sync(w->handle));
    }
    return status;
}

/* Collective, agreed. */
static spmm_status_t write_file(writer_t *w, const char *name)
{
    spmm_env_t   *env                         = w->A->env;
    char          temporary[SPMM_OUTPUT_PATH] = "";
    spmm_status_t status                      = find_format(w, name);

    SPMM_TRY(spmmi_agree(env, status));
    w->first = spmmi_matrix_local_nnz(w->A);
    SPMM_TRY(spmmi_exscan(env, &w->first, 1));
    if (env->rank == 0) {
        status = open_output(w);
        memcpy(temporary, w->output.temporary, sizeof temporary);
    }
    SPMM_TRY(spmmi_agree(env, status));
    SPMM_TRY(spmmi_bcast(env, temporary, sizeof temporary, 0));
    SPMM_TRY(spmmi_agree(env, open_shared(w, temporary)));
    return spmmi_agree(env, write_part(w));
}

spmm_status_t spmmi_matrix_write(const spmm_matrix_t *A, const char *path, const char *format)
{
    writer_t      w      = {.A = A, .path = path, .handle = MPI_FILE_NULL};
    spmm_status_t status = write_file(&w, format);
    int           error;

    if (w.handle != MPI_FILE_NULL) {
        (void)MPI_File_close(&w.handle);
    }
    spmmi_free(w.raw);
    if (status == SPMM_OK) { /* nobody has the file open any more */
        status = spmmi_barrier(A->env);
    }
    error = spmmi_output_close(&w.output, status == SPMM_OK);
    if (status != SPMM_OK) {
        return status;
    }
    return spmmi_agree(A->env, error == 0 ? SPMM_OK : fail_write(&w, strerror(error)));
}
