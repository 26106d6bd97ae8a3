/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/dense/lt_cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define NAME_OF(version)  NAME_OF_(version)
#define NAME_OF_(version) "libcublasLt.so." #version
static const char *const library = NAME_OF(CUBLAS_VER_MAJOR);

static const struct {
    const char *name;
    size_t      at; /* in the table */
} symbols[] = {
    {"cublasLtCreate", offsetof(spmm_lt_t, Create)},
    {"cublasLtDestroy", offsetof(spmm_lt_t, Destroy)},
    {"cublasLtGetStatusString", offsetof(spmm_lt_t, GetStatusString)},
    {"cublasLtMatmulDescCreate", offsetof(spmm_lt_t, MatmulDescCreate)},
    {"cublasLtMatmulDescDestroy", offsetof(spmm_lt_t, MatmulDescDestroy)},
    {"cublasLtMatmulDescSetAttribute", offsetof(spmm_lt_t, MatmulDescSetAttribute)},
    {"cublasLtMatrixLayoutCreate", offsetof(spmm_lt_t, MatrixLayoutCreate)},
    {"cublasLtMatrixLayoutDestroy", offsetof(spmm_lt_t, MatrixLayoutDestroy)},
    {"cublasLtMatmulPreferenceCreate", offsetof(spmm_lt_t, MatmulPreferenceCreate)},
    {"cublasLtMatmulPreferenceDestroy", offsetof(spmm_lt_t, MatmulPreferenceDestroy)},
    {"cublasLtMatmulPreferenceSetAttribute", offsetof(spmm_lt_t, MatmulPreferenceSetAttribute)},
    {"cublasLtMatmulAlgoGetHeuristic", offsetof(spmm_lt_t, MatmulAlgoGetHeuristic)},
    {"cublasLtMatmul", offsetof(spmm_lt_t, Matmul)},
};

/* Of the process: contexts of several threads share them. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static spmm_lt_t      table;
static char           why[256]; /* it could not be loaded; "": it was */
static atomic_bool    tried;

static void load(void)
{
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);

    if (handle == NULL) {
        const char *reason = dlerror();

        (void)snprintf(why, sizeof why, "%s", reason != NULL ? reason : library);
        return;
    }
    for (size_t k = 0; k < sizeof symbols / sizeof symbols[0]; k++) {
        void *const symbol = dlsym(handle, symbols[k].name);

        if (symbol == NULL) {
            (void)snprintf(why, sizeof why, "%s has no %s", library, symbols[k].name);
            return;
        }
        memcpy((char *)&table + symbols[k].at, &symbol, sizeof symbol);
    }
}

double spmmi_lt_load_s(void)
{
    return atomic_load(&tried) ? 0.0 : 0.3;
}

spmm_status_t spmmi_lt_open(const spmm_device_t *device, const spmm_lt_t **lt)
{
    (void)pthread_once(&once, load); /* it fails for a wrong argument alone */
    atomic_store(&tried, true);
    if (why[0] != '\0') {
        return spmmi_fail(&device->env->err, SPMM_ERR_UNSUPPORTED,
                          "engine dense needs cuBLASLt, which cannot be loaded: %s", why);
    }
    *lt = &table;
    return SPMM_OK;
}

spmm_status_t spmmi_lt_check(const spmm_device_t *device, const spmm_lt_t *lt, cublasStatus_t code,
                             const char *what)
{
    spmm_status_t status = SPMM_ERR_DEVICE;

    if (code == CUBLAS_STATUS_SUCCESS) {
        return SPMM_OK;
    }
    (void)cudaGetLastError();
    if (code == CUBLAS_STATUS_ALLOC_FAILED) {
        status = SPMM_ERR_MEMORY;
    } else if (code == CUBLAS_STATUS_NOT_SUPPORTED || code == CUBLAS_STATUS_INVALID_VALUE) {
        status = SPMM_ERR_UNSUPPORTED;
    }
    return spmmi_fail(&device->env->err, status, "%s failed on CUDA device %d: %s", what,
                      device->ordinal, lt->GetStatusString(code));
}
