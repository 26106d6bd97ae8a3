/* SPDX-License-Identifier: Apache-2.0 */
#include "temp_file.h"

#include <unistd.h>
#ifdef SPMM_HAVE_ZLIB
#include <zlib.h>
#endif

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

#ifdef SPMM_HAVE_ZLIB
const char *spmm_temp_write_gzip(const void *bytes, size_t size, size_t cut, size_t garbage)
{
    MPI_Barrier(spmm_test_env.comm);
    if (spmm_test_env.rank == 0) {
        FILE          *file   = create();
        const size_t   room   = size + size / 100 + 256;
        unsigned char *packed = spmm_test_malloc(room);
        unsigned char *input  = spmm_test_malloc(size + 1);
        z_stream       z      = {0};

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

static void put_le(unsigned char *to, size_t value, int width)
{
    for (int k = 0; k < width; k++) {
        to[k] = (unsigned char)(value >> (8 * k) & 255);
    }
}

/* @return its bytes */
static size_t pack_block(const unsigned char *text, size_t size, unsigned char *to)
{
    static const unsigned char head[16] = {31, 139, 8, 4, 0, 0, 0, 0, 0, 255, 6, 0, 66, 67, 2, 0};
    z_stream                   z        = {0};
    size_t                     length;

    memcpy(to, head, sizeof head);
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in   = (unsigned char *)(uintptr_t)text;
    z.avail_in  = (unsigned)size;
    z.next_out  = to + 18;
    z.avail_out = 65000;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    length = z.total_out + 26;
    (void)deflateEnd(&z);
    put_le(to + 16, length - 1, 2);
    put_le(to + length - 8, crc32(0, text, (unsigned)size), 4);
    put_le(to + length - 4, size, 4);
    return length;
}

const char *spmm_temp_write_bgzf(const void *bytes, size_t size, size_t block, size_t damaged)
{
    MPI_Barrier(spmm_test_env.comm);
    if (spmm_test_env.rank == 0) {
        FILE          *file   = create();
        unsigned char *packed = spmm_test_malloc(1 << 16);
        size_t         at = 0, done = 0, part, length;

        do {
            part   = size - done < block ? size - done : block;
            length = pack_block((const unsigned char *)bytes + done, part, packed);
            if (damaged >= at && damaged < at + length && damaged > 0) {
                packed[damaged - at] ^= 1;
            }
            assert_true(fwrite(packed, 1, length, file) == length);
            at += length;
            done += part;
        } while (part > 0);
        assert_int_equal(fclose(file), 0);
        free(packed);
    }
    return share();
}
#endif
