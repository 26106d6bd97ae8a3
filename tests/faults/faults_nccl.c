/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <nccl.h>

#include "faults_next.h"

#define NCCL(name, parameters, arguments)                                                          \
    FAULTS_NEXT(ncclResult_t, name, ncclSystemError, parameters, arguments)

NCCL(ncclGetUniqueId, (ncclUniqueId * id), (id))
NCCL(ncclCommInitRankConfig, (ncclComm_t * comm, int n, ncclUniqueId id, int rank, ncclConfig_t *c),
     (comm, n, id, rank, c))
NCCL(ncclCommFinalize, (ncclComm_t comm), (comm))
NCCL(ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t *error), (comm, error))
NCCL(ncclGroupStart, (void), ())
NCCL(ncclGroupEnd, (void), ())
NCCL(ncclSend,
     (const void *data, size_t n, ncclDataType_t type, int to, ncclComm_t comm,
      cudaStream_t stream),
     (data, n, type, to, comm, stream))
NCCL(ncclRecv,
     (void *data, size_t n, ncclDataType_t type, int from, ncclComm_t comm, cudaStream_t stream),
     (data, n, type, from, comm, stream))
