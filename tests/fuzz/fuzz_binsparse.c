/* SPDX-License-Identifier: Apache-2.0 */
/* JSON of binsparse: what is understood has sizes, and types that numbers have. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "matrix/read/binsparse.h"

static int is_integer(spmm_binsparse_type_t type)
{
    return (type.kind == 'u' || type.kind == 'i') &&
           (type.bytes == 1 || type.bytes == 2 || type.bytes == 4 || type.bytes == 8);
}

static int is_real(spmm_binsparse_type_t type)
{
    return type.kind == 'f' && (type.bytes == 4 || type.bytes == 8);
}

void spmm_fuzz_one(const uint8_t *data, size_t size)
{
    char            *text    = malloc(size + 1);
    const char      *problem = NULL;
    spmm_binsparse_t b;
    spmm_status_t    status;

    spmm_fuzz_check(text != NULL, "there is memory");
    memcpy(text, data, size);
    text[size] = '\0';
    status     = spmmi_binsparse_parse(text, &b, &problem);
    free(text);
    spmm_fuzz_status(status, status == SPMM_OK ? "" : problem);
    if (status == SPMM_OK) {
        spmm_fuzz_check(b.rows >= 0 && b.cols >= 0 && b.nnz >= 0, "sizes are counts");
        spmm_fuzz_check(is_integer(b.row) && is_integer(b.col), "indices are integers");
        spmm_fuzz_check(is_real(b.value) || is_integer(b.value) ||
                            (b.value.kind == 'b' && b.value.bytes == 1),
                        "values are numbers");
        spmm_fuzz_check(b.parts == 1 || (b.parts == 2 && is_real(b.value)),
                        "complex values are of two real numbers");
    } else {
        spmm_fuzz_check(status == SPMM_ERR_IO || status == SPMM_ERR_UNSUPPORTED,
                        "bad JSON is one of the file");
    }
}
