/* SPDX-License-Identifier: Apache-2.0 */
/** @file context.h  The context behind the public handle. */
#ifndef SPMM_API_CONTEXT_H
#define SPMM_API_CONTEXT_H

#include "device/device.h"
#include "exchange/transport.h"
#include "spmm_dist/context.h"

enum { SPMM_BEGIN = 4 };

struct spmm_context {
    spmm_env_t              env;
    spmm_device_t           device;
    spmm_transport_shared_t shared;
    int                     live; /**< matrices and plans not yet destroyed */
    int                     made; /**< so far: their numbers, equal on all ranks */
    struct {
        double   v[SPMM_BEGIN];
        MPI_Comm comm;
    } begin; /**< what MPI may come back to where ranks do not come to the first two calls */
};

/** Is it after MPI_Init and before MPI_Finalize? */
bool spmmi_mpi_runs(void);

/** Copy a caller's options, which may be of an older, shorter version, over the defaults in
 *  *options.  A struct_size of 0 or beyond @p size is SPMM_ERR_ARGUMENT. */
spmm_status_t spmmi_take_options(spmm_error_t *err, const void *given, size_t given_size,
                                 void *options, size_t size, const char *what);

/** Copy @p size bytes of an info struct to a caller whose version is @p given_size bytes long and
 *  starts with its struct_size, which is kept. */
spmm_status_t spmmi_give_info(spmm_error_t *err, const void *info, size_t size, void *to,
                              const char *what);

#endif /* SPMM_API_CONTEXT_H */
