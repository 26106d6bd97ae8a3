/* SPDX-License-Identifier: Apache-2.0 */
/* Any file, started from HDF5 files in the layout of binsparse.  HDF5 itself says nothing on
 * standard error, and nothing of it stays open. */
#include "fuzz.h"

#include <hdf5.h>

const char *__asan_default_options(void);

/* HDF5 asks malloc() for as much as a file says, and takes NULL for an answer. */
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=1024";
}

const char *__lsan_default_suppressions(void);

/* Where malloc() has said no, HDF5 leaves what it had. */
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5";
}

static int         messages;
static H5E_auto2_t print;

/* In place of HDF5's own printing, which the library turns off as long as it calls. */
static herr_t count_message(hid_t stack, void *data)
{
    (void)stack;
    (void)data;
    messages++;
    return 0;
}

void spmm_fuzz_one(const uint8_t *data, size_t size)
{
    static const spmm_type_t types[] = {SPMM_TYPE_AUTO, SPMM_R_32F, SPMM_R_16F, SPMM_R_16BF,
                                        SPMM_C_32F};
    void                    *of;
    spmm_matrix_t           *A = NULL;
    spmm_status_t            status;

    if (print == NULL) {
        spmm_fuzz_check(H5Eset_auto2(H5E_DEFAULT, count_message, NULL) >= 0, "HDF5 starts");
    }
    status = spmm_matrix_read(spmm_fuzz_ctx, spmm_fuzz_file(data, size), types[size % 5], 1, &A);
    spmm_fuzz_status(status, spmm_last_error(spmm_fuzz_ctx));
    if (status == SPMM_OK) {
        spmm_fuzz_matrix(A);
    }
    (void)spmm_matrix_destroy(&A);
    spmm_fuzz_check(messages == 0, "HDF5 says nothing");
    spmm_fuzz_check(H5Eget_auto2(H5E_DEFAULT, &print, &of) >= 0 && print == count_message,
                    "what a program does with HDF5's messages is left to it");
    spmm_fuzz_check(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL) <= 0, "nothing of HDF5 stays open");
}
