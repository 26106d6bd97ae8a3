/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/output.h"
#include "matrix/read/binary.h"
#include "matrix/read/file.h"
#include "matrix/read/gzip.h"
#include "matrix/read/matrix_market.h"

enum { HEAD_ROOM = 512 /* bytes; four lines of 80 columns tell Harwell-Boeing */ };

/* What rank 0 finds out about a file before the others touch it. */
typedef struct {
    int64_t       size;
    size_t        length;          /* of head */
    unsigned char head[HEAD_ROOM]; /* zero past the end */
} probe_t;

static spmm_status_t probe_file(spmm_env_t *env, const char *path, probe_t *probe)
{
    const char *other;
    struct stat info;
    FILE       *stream = spmmi_input_open(path, &other);
    bool        failed;

    if (other != NULL) {
        return spmmi_fail(&env->err, SPMM_ERR_IO, SPMM_PATH_SHOWN " is %s, not a matrix file", path,
                          other);
    }
    if (stream == NULL) {
        return spmmi_fail(&env->err, SPMM_ERR_IO, SPMM_PATH_SHOWN " cannot be opened: %s", path,
                          strerror(errno));
    }
    failed        = fstat(fileno(stream), &info) != 0;
    probe->size   = failed ? 0 : (int64_t)info.st_size;
    probe->length = fread(probe->head, 1, sizeof probe->head, stream);
    failed        = failed || ferror(stream);
    (void)fclose(stream);
    if (failed || (probe->size > 0) != (probe->length > 0)) {
        return spmmi_fail(&env->err, SPMM_ERR_IO, SPMM_PATH_SHOWN " cannot be read", path);
    }
    return probe->size > 0 ? SPMM_OK
                           : spmmi_fail(&env->err, SPMM_ERR_IO, SPMM_PATH_SHOWN " is empty", path);
}

static bool is_gzip(const probe_t *probe)
{
    return probe->head[0] == 0x1f && probe->head[1] == 0x8b;
}

/* Formats that their first bytes tell; everything else is Matrix Market, or none. */
static const struct {
    bool (*matches)(const unsigned char head[SPMM_FILE_HEAD]);
    spmm_status_t (*read)(spmm_file_t *file, const unsigned char head[SPMM_FILE_HEAD],
                          spmm_type_t type, uint64_t seed, spmm_matrix_t **A);
} format[] = {
    {spmmi_csr_file_matches, spmmi_csr_file_read},
    {spmmi_petsc_file_matches, spmmi_petsc_file_read},
    {spmmi_smtx_matches, spmmi_smtx_read},
};

/* Gzipped in blocks: all ranks unpack; as a whole: rank 0. */
static spmm_status_t read_gzip(spmm_file_t *file, spmm_type_t type, spmm_matrix_t **A)
{
    spmm_bgzf_t   blocks;
    spmm_bytes_t  text;
    spmm_status_t status;

    SPMM_TRY(spmmi_bgzf_open(file, &blocks));
    if (blocks.n == 0) {
        status = spmmi_mm_read_gzip(file->env, file->path, type, A);
    } else {
        text   = spmmi_bgzf_bytes(&blocks);
        status = spmmi_mm_read_text(file, &text, type, A);
    }
    spmmi_bgzf_close(&blocks);
    return status;
}

static spmm_status_t read_text(spmm_file_t *file, spmm_type_t type, spmm_matrix_t **A)
{
    const spmm_bytes_t text = spmmi_file_bytes(file);

    return spmmi_mm_read_text(file, &text, type, A);
}

static spmm_status_t read_by_content(spmm_env_t *env, const char *path, const probe_t *probe,
                                     spmm_type_t type, uint64_t seed, spmm_matrix_t **A)
{
    const size_t  n = sizeof format / sizeof *format;
    size_t        f = 0;
    const char   *foreign;
    spmm_file_t   file;
    spmm_status_t status;

    if (is_gzip(probe) && !spmmi_bgzf_matches(probe->head)) {
        return spmmi_mm_read_gzip(env, path, type, A);
    }
    while (f < n && !format[f].matches(probe->head)) {
        f++;
    }
    foreign = f < n ? NULL : spmmi_foreign_format((const char *)probe->head, probe->length);
    if (foreign != NULL) {
        return spmmi_fail(&env->err, SPMM_ERR_IO, SPMM_PATH_SHOWN " is %s", path, foreign);
    }
    SPMM_TRY(spmmi_file_open(env, path, probe->size, &file));
    if (f < n) {
        status = format[f].read(&file, probe->head, type, seed, A);
    } else {
        status = is_gzip(probe) ? read_gzip(&file, type, A) : read_text(&file, type, A);
    }
    spmmi_file_close(&file);
    return status;
}

spmm_status_t spmmi_matrix_from_file(spmm_env_t *env, const char *path, spmm_type_t type,
                                     uint64_t seed, spmm_matrix_t **A)
{
    const double  start  = spmmi_now();
    probe_t       probe  = {0};
    spmm_status_t status = SPMM_OK;
    uint64_t      digest;
    int           readers;

    if (env->rank == 0) {
        status = probe_file(env, path, &probe);
    }
    SPMM_TRY(spmmi_file_agree(env, status));
    SPMM_TRY(spmmi_bcast(env, &probe, sizeof probe, 0));
    if (env->rank == 0) {
        spmmi_log(env, "reading " SPMM_PATH_SHOWN ", %" PRId64 " bytes", path, probe.size);
    }
    readers = is_gzip(&probe) && !spmmi_bgzf_matches(probe.head) ? 1 : env->size;
    SPMM_TRY(spmmi_file_compare(env, path, probe.size, readers, &digest));
    SPMM_TRY(read_by_content(env, path, &probe, type, seed, A));
    (*A)->digest = digest;
    if (env->rank == 0) {
        spmmi_log(env,
                  "read " SPMM_PATH_SHOWN ": %" PRId64 " x %" PRId64 ", %" PRId64
                  " entries, %" PRId64 " bytes in %.2f s",
                  path, (*A)->rows, (*A)->cols, (*A)->nnz, probe.size, spmmi_now() - start);
    }
    return SPMM_OK;
}
