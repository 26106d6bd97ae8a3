/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded, it makes each rank of a job see GPUs by other names than all others: transport nccl
 * then does not refuse ranks that share one.  NCCL itself goes by host and bus. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdlib.h>

/* Some headers give the function another name. */
#define TEXT(name)  #name
#define NAMED(name) TEXT(name)

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    static cudaError_t (*next)(struct cudaDeviceProp *, int);
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    cudaError_t code;

    if (next == NULL) {
        *(void **)&next = dlsym(RTLD_NEXT, NAMED(cudaGetDeviceProperties));
    }
    code = next(properties, device);
    if (code == cudaSuccess && rank != NULL) {
        properties->uuid.bytes[15] = (char)atoi(rank);
    }
    return code;
}
