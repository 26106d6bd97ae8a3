/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memfd_create() */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"

spmm_env_t      spmm_fuzz_env;
spmm_context_t *spmm_fuzz_ctx;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int         memory_file = -1;
static char        memory_path[64];
static const char *content;
static size_t      content_size;

void spmm_fuzz_check(int holds, const char *property)
{
    if (!holds) {
        (void)fprintf(stderr, "fuzz: does not hold: %s\nlast sentence: %s\n", property,
                      spmmi_error_thread_text());
        abort();
    }
}

/* Where the linker redirects the library's allocations (--wrap).  A file may honestly speak of more
 * rows than there is memory for: what is large is refused, so that no input takes long.  Buffers of
 * megabytes are kept for the next input: poisoning them anew takes ten times the reading. */

enum {
    MOST_BYTES = 9 << 20,
    KEPT       = 4 << 20 /* of all buffers of pieces of files */,
    MOST_KEPT  = 8
};

void *__real_spmmi_alloc(int64_t count, size_t size);
void *__wrap_spmmi_alloc(int64_t count, size_t size);
void *__real_spmmi_alloc_zero(int64_t count, size_t size);
void *__wrap_spmmi_alloc_zero(int64_t count, size_t size);
void *__real_spmmi_realloc(void *ptr, int64_t count, size_t size);
void *__wrap_spmmi_realloc(void *ptr, int64_t count, size_t size);
void  __real_spmmi_free(void *ptr);
void  __wrap_spmmi_free(void *ptr);

static struct {
    void  *block;
    size_t bytes;
    bool   taken;
} kept[MOST_KEPT];

static void *take_kept(size_t bytes)
{
    for (int i = 0; i < MOST_KEPT; i++) {
        if (kept[i].block == NULL) {
            kept[i].block = malloc(bytes);
            kept[i].bytes = bytes;
        }
        if (kept[i].block != NULL && kept[i].bytes == bytes && !kept[i].taken) {
            kept[i].taken = true;
            (void)spmmi_alloc_note();
            return kept[i].block;
        }
    }
    return NULL;
}

static bool give_kept(const void *ptr)
{
    for (int i = 0; i < MOST_KEPT && ptr != NULL; i++) {
        if (kept[i].block == ptr) {
            kept[i].taken = false;
            spmmi_alloc_note_free();
            return true;
        }
    }
    return false;
}

static size_t bytes_of(int64_t count, size_t size)
{
    size_t bytes = 0;

    return count >= 0 && spmmi_size_mul((size_t)count, size, &bytes) ? bytes : 0;
}

void *__wrap_spmmi_alloc(int64_t count, size_t size)
{
    const size_t bytes = bytes_of(count, size);
    void        *block = NULL;

    if (bytes > MOST_BYTES) {
        return NULL;
    }
    if (bytes == KEPT) {
        block = take_kept(bytes);
    }
    return block != NULL ? block : __real_spmmi_alloc(count, size);
}

void *__wrap_spmmi_alloc_zero(int64_t count, size_t size)
{
    return bytes_of(count, size) > MOST_BYTES ? NULL : __real_spmmi_alloc_zero(count, size);
}

void *__wrap_spmmi_realloc(void *ptr, int64_t count, size_t size)
{
    return bytes_of(count, size) > MOST_BYTES ? NULL : __real_spmmi_realloc(ptr, count, size);
}

void __wrap_spmmi_free(void *ptr)
{
    if (!give_kept(ptr)) {
        __real_spmmi_free(ptr);
    }
}

/* MPI-IO on the file in memory, at a hundredth of what Open MPI takes to open one. */

int MPI_File_open(MPI_Comm comm, const char *path, int mode, MPI_Info info, MPI_File *file)
{
    (void)comm;
    (void)mode;
    (void)info;
    spmm_fuzz_check(strcmp(path, memory_path) == 0, "only the file in memory is opened");
    *file = (MPI_File)(void *)memory_path;
    return MPI_SUCCESS;
}

int MPI_File_close(MPI_File *file)
{
    *file = MPI_FILE_NULL;
    return MPI_SUCCESS;
}

int MPI_File_set_errhandler(MPI_File file, MPI_Errhandler handler)
{
    (void)file;
    (void)handler;
    return MPI_SUCCESS;
}

int MPI_File_read_at(MPI_File file, MPI_Offset at, void *to, int count, MPI_Datatype type,
                     MPI_Status *status)
{
    const size_t left = at < 0 || (size_t)at > content_size ? 0 : content_size - (size_t)at;
    const size_t got  = (size_t)count < left ? (size_t)count : left;

    (void)file;
    spmm_fuzz_check(at >= 0 && count >= 0, "reads have an offset and a length");
    if (got > 0) {
        memcpy(to, content + at, got);
    }
    return MPI_Status_set_elements(status, type, (int)got);
}

const char *spmm_fuzz_file(const void *bytes, size_t size)
{
    content      = bytes;
    content_size = size;
    spmm_fuzz_check(ftruncate(memory_file, 0) == 0 &&
                        (size == 0 || pwrite(memory_file, bytes, size, 0) == (ssize_t)size),
                    "the file in memory can be written");
    return memory_path;
}

void spmm_fuzz_status(spmm_status_t status, const char *sentence)
{
    spmm_fuzz_check(status <= SPMM_OK && status >= SPMM_ERR_INTERNAL, "the status is documented");
    spmm_fuzz_check(status != SPMM_ERR_INTERNAL, "no check of the library on itself fails");
    spmm_fuzz_check(status != SPMM_ERR_DEVICE && status != SPMM_ERR_COMM,
                    "input alone breaks neither device nor communicator");
    spmm_fuzz_check(status == SPMM_OK || sentence[0] != '\0', "a failure has a sentence");
    spmm_fuzz_check(memchr(sentence, '\n', strlen(sentence)) == NULL, "a sentence is one line");
}

void spmm_fuzz_matrix(const spmm_matrix_t *A)
{
    spmm_matrix_info_t info = {.struct_size = sizeof info};
    const int64_t     *row_ptr, *col;
    const void        *values;

    spmm_fuzz_check(spmm_matrix_get_info(A, &info) == SPMM_OK, "a matrix describes itself");
    spmm_fuzz_check(spmm_matrix_get_csr(A, &row_ptr, &col, &values) == SPMM_OK,
                    "a matrix lends its rows");
    spmm_fuzz_check(info.rows == info.local_rows && info.nnz == info.local_nnz,
                    "one rank holds everything");
    spmm_fuzz_check(row_ptr[0] == 0 && row_ptr[info.rows] == info.nnz, "offsets span the entries");
    for (int64_t i = 0; i < info.rows; i++) {
        spmm_fuzz_check(row_ptr[i] <= row_ptr[i + 1], "offsets do not fall");
        for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
            spmm_fuzz_check(col[k] >= 0 && col[k] < info.cols, "columns lie in the matrix");
            spmm_fuzz_check(k == row_ptr[i] || col[k] > col[k - 1], "columns rise");
        }
    }
}

uint8_t spmm_fuzz_u8(spmm_fuzz_bytes_t *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

int64_t spmm_fuzz_int(spmm_fuzz_bytes_t *in)
{
    const uint8_t first = spmm_fuzz_u8(in);
    uint64_t      x     = 0;

    if (first < 250) {
        return first;
    }
    for (int i = 0; i < 8; i++) {
        x = x << 8 | spmm_fuzz_u8(in);
    }
    return (int64_t)x;
}

static void finish(void)
{
    (void)spmm_context_destroy(&spmm_fuzz_ctx);
    MPI_Comm_free(&spmm_fuzz_env.comm);
    MPI_Finalize();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    spmm_context_options_t options = SPMM_CONTEXT_OPTIONS_INIT;

    MPI_Init(argc, argv);
    MPI_Comm_dup(MPI_COMM_SELF, &spmm_fuzz_env.comm);
    MPI_Comm_set_errhandler(spmm_fuzz_env.comm, MPI_ERRORS_RETURN);
    spmm_fuzz_env.size = 1;
    options.device     = SPMM_DEVICE_CPU;
    spmm_fuzz_check(spmm_context_create(MPI_COMM_SELF, &options, &spmm_fuzz_ctx) == SPMM_OK,
                    "there is a context");
    memory_file = memfd_create("spmm_fuzz", 0);
    spmm_fuzz_check(memory_file >= 0, "there are files in memory");
    (void)snprintf(memory_path, sizeof memory_path, "/proc/self/fd/%d", memory_file);
    (void)atexit(finish);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const spmm_alloc_stats_t before = spmmi_alloc_get_stats();

    spmmi_error_clear(&spmm_fuzz_env.err);
    spmm_fuzz_one(data, size);
    spmm_fuzz_check(spmmi_alloc_get_stats().live == before.live, "nothing leaks");
    return 0;
}
