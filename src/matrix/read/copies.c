/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that read parts of different files under one path would build a mixture of them.  Each rank
 * looks at the size of what it sees and digests samples of it: the whole of a file of up to
 * SAMPLES * SAMPLE bytes, and of a longer one as many blocks, evenly spaced, its first and last
 * bytes among them.  So every difference is found in a short file; in a long one another size
 * (another number of entries, most often), header or end, and contents that differ in many
 * places, as those of a file that was written anew: blocks that differ in a share f of the file go
 * unseen with a probability of (1 - f)^SAMPLES.  A few bytes that were edited in a long file are
 * not found: that takes reading all of it on every rank. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/output.h"
#include "matrix/read/file.h"

enum { SAMPLES = 64, SAMPLE = 1 << 16 /* bytes */ };

/* What a rank sees. */
typedef struct {
    int64_t  size;
    uint64_t digest; /* 0 where the size is not that of rank 0 */
    char     host[MPI_MAX_PROCESSOR_NAME];
} seen_t;

/* @return whether all could be read */
static bool digest_samples(FILE *stream, int64_t size, char *buffer, uint64_t *digest)
{
    const int64_t whole = (size + SAMPLE - 1) / SAMPLE;
    const int64_t count = whole < SAMPLES ? whole : SAMPLES;
    const int64_t last  = size > SAMPLE ? size - SAMPLE : 0;

    *digest = spmmi_mix64((uint64_t)size);
    for (int64_t k = 0; k < count; k++) {
        const int64_t at =
            count == 1 ? 0 : last / (count - 1) * k + last % (count - 1) * k / (count - 1);
        const size_t bytes = (size_t)(size - at < SAMPLE ? size - at : SAMPLE);

        if (fseeko(stream, at, SEEK_SET) != 0 || fread(buffer, 1, bytes, stream) != bytes) {
            return false;
        }
        *digest = spmmi_hash_bytes(*digest, buffer, bytes);
    }
    return true;
}

/* @p size: of the file on rank 0.  Local. */
static spmm_status_t look(spmm_env_t *env, const char *path, int64_t size, seen_t *seen)
{
    const char *other;
    int         length = 0;
    char       *buffer;
    FILE       *stream;
    bool        good;

    SPMM_MPI(env, MPI_Get_processor_name(seen->host, &length));
    if (SPMM_NEW(buffer, SAMPLE) == NULL) {
        return spmmi_fail_bytes(&env->err, SAMPLE, "samples of a file");
    }
    errno  = 0;
    stream = spmmi_input_open(path, &other);
    good   = stream != NULL && fseeko(stream, 0, SEEK_END) == 0;
    if (good) {
        seen->size = (int64_t)ftello(stream);
        good       = seen->size != size || digest_samples(stream, size, buffer, &seen->digest);
    }
    if (!good) {
        (void)spmmi_fail(&env->err, SPMM_ERR_IO, SPMM_PATH_SHOWN " cannot be read on %.64s: %s%s",
                         path, seen->host, other != NULL ? "it is " : "",
                         other != NULL ? other
                         : errno == 0  ? "it was changed while being read"
                                       : strerror(errno));
    }
    if (stream != NULL) {
        (void)fclose(stream);
    }
    spmmi_free(buffer);
    return good ? SPMM_OK : SPMM_ERR_IO;
}

spmm_status_t spmmi_file_compare(spmm_env_t *env, const char *path, int64_t size, int readers,
                                 uint64_t *digest)
{
    spmm_status_t status = SPMM_OK;
    seen_t        mine   = {0}, first, other;
    int           rank;

    if (env->rank < readers) {
        status = look(env, path, size, &mine);
    }
    SPMM_TRY(spmmi_agree(env, status));
    first = mine;
    SPMM_TRY(spmmi_bcast(env, &first, sizeof first, 0));
    *digest = first.digest;
    rank    = env->rank >= readers || (mine.size == first.size && mine.digest == first.digest)
                  ? env->size
                  : env->rank;
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
                      path, first.host, first.size, rank, other.host,
                      other.size == first.size ? "other " : "", other.size);
}
