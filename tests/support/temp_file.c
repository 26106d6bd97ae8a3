/* SPDX-License-Identifier: Apache-2.0 */
#include "temp_file.h"

#include <unistd.h>
#include <zlib.h>

#include "test_main.h"

static char path[256];

static void remove_last(void)
{
    if (path[0] != '\0') {
        (void)remove(path);
    }
}

static FILE *create(void)
{
    const char *dir = getenv("TMPDIR");
    FILE       *file;
    int         handle;

    if (path[0] == '\0') {
        assert_int_equal(atexit(remove_last), 0);
    }
    remove_last();
    (void)snprintf(path, sizeof path, "%.200s/spmm_test_XXXXXX", dir == NULL ? "/tmp" : dir);
    handle = mkstemp(path);
    assert_true(handle >= 0);
    file = fdopen(handle, "wb");
    assert_non_null(file);
    return file;
}

static const char *share(void)
{
    MPI_Bcast(path, (int)sizeof path, MPI_CHAR, 0, spmm_test_env.comm);
    return path;
}

const char *spmm_temp_write(const void *bytes, size_t size)
{
    MPI_Barrier(spmm_test_env.comm);
    if (spmm_test_env.rank == 0) {
        FILE *file = create();

        assert_true(fwrite(bytes, 1, size, file) == size);
        assert_int_equal(fclose(file), 0);
    }
    return share();
}

const char *spmm_temp_write_gzip(const void *bytes, size_t size, size_t cut, size_t garbage)
{
    MPI_Barrier(spmm_test_env.comm);
    if (spmm_test_env.rank == 0) {
        FILE          *file   = create();
        const size_t   room   = size + size / 100 + 256;
        unsigned char *packed = malloc(room);
        unsigned char *input  = malloc(size + 1);
        z_stream       z      = {0};

        assert_non_null(packed);
        assert_non_null(input);
        memcpy(input, bytes, size);
        assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
        z.next_in   = input;
        z.avail_in  = (unsigned)size;
        z.next_out  = packed;
        z.avail_out = (unsigned)room;
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        assert_true(fwrite(packed, 1, z.total_out - cut, file) == z.total_out - cut);
        for (size_t i = 0; i < garbage; i++) {
            assert_true(fputc('x', file) == 'x');
        }
        assert_int_equal(fclose(file), 0);
        (void)deflateEnd(&z);
        spmm_test_free(packed, input);
    }
    return share();
}
