/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that read parts of different files under one path would build a mixture of them.  Each rank
 * looks at the size of what it sees and digests samples of it: the whole of a file of up to
 * SAMPLES * SAMPLE bytes, and of a longer one as many blocks, evenly spaced, its first and last
 * bytes among them.  So every difference is found in a short file; in a long one another size
 * (another number of entries, most often), header or end, and contents that differ in many
 * places, as those of a file that was written anew: blocks that differ in a share f of the file go
 * unseen with a probability of (1 - f)^SAMPLES.  A few bytes that were edited in a long file are
 * not found: that takes reading all of it on every rank. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "matrix/read/file.h"

enum { SAMPLES = 64, SAMPLE = 1 << 16 /* bytes */ };

/* What a rank sees. */
typedef struct {
    int64_t  size;
    uint64_t digest; /* 0 where the size is not that of rank 0 */
    char     host[MPI_MAX_PROCESSOR_NAME];
} seen_t;

static spmm_status_t digest_samples(spmm_file_t *file, char *buffer, uint64_t *digest)
{
    const int64_t whole = (file->size + SAMPLE - 1) / SAMPLE;
    const int64_t count = whole < SAMPLES ? whole : SAMPLES;

    for (int64_t k = 0; k < count; k++) {
        const int64_t last = file->size > SAMPLE ? file->size - SAMPLE : 0;
        const int64_t at =
            count == 1 ? 0 : last / (count - 1) * k + last % (count - 1) * k / (count - 1);
        const int64_t bytes = file->size - at < SAMPLE ? file->size - at : SAMPLE;

        SPMM_TRY(spmmi_file_read(file, at, buffer, bytes));
        *digest = spmmi_hash_bytes(*digest, buffer, (size_t)bytes);
    }
    return SPMM_OK;
}

/* Local. */
static spmm_status_t look(spmm_file_t *file, seen_t *seen)
{
    spmm_env_t   *env    = file->env;
    MPI_Offset    size   = 0;
    int           length = 0;
    char         *buffer;
    spmm_status_t status;

    SPMM_MPI(env, MPI_Get_processor_name(seen->host, &length));
    SPMM_MPI(env, MPI_File_get_size(file->handle, &size));
    seen->size = (int64_t)size;
    if (seen->size != file->size) {
        return SPMM_OK;
    }
    if (SPMM_NEW(buffer, SAMPLE) == NULL) {
        return spmmi_fail_bytes(&env->err, SAMPLE, "samples of a file");
    }
    status = digest_samples(file, buffer, &seen->digest);
    spmmi_free(buffer);
    return status;
}

spmm_status_t spmmi_file_compare(spmm_file_t *file)
{
    spmm_env_t *env  = file->env;
    seen_t      mine = {0}, first, other;
    int         rank;

    if (env->size == 1) {
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_file_agree(env, look(file, &mine)));
    first = mine;
    SPMM_TRY(spmmi_bcast(env, &first, sizeof first, 0));
    rank = mine.size == first.size && mine.digest == first.digest ? env->size : env->rank;
    SPMM_TRY(spmmi_allreduce(env, &rank, 1, MPI_INT, MPI_MIN));
    if (rank == env->size) {
        return SPMM_OK;
    }
    other = mine;
    SPMM_TRY(spmmi_bcast(env, &other, sizeof other, rank));
    return spmmi_fail(&env->err, SPMM_ERR_IO,
                      SPMM_PATH_SHOWN " is not the same file on all ranks: rank 0 on %.64s sees "
                                      "%" PRId64 " bytes, rank %d on %.64s %s%" PRId64
                                      " bytes; put one copy where all nodes see it",
                      file->path, first.host, first.size, rank, other.host,
                      other.size == first.size ? "other " : "", other.size);
}
