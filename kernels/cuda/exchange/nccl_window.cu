/* SPDX-License-Identifier: Apache-2.0 */
/** @file nccl_window.cu
 *  The one file that sees NCCL's device API: where the window of each rank lies in this rank's
 *  address space.  What it reads has no stable layout over versions of NCCL, so callers make sure
 *  that the library at run time is the one compiled with.
 */
#include "cuda/dense/rows.cuh"
#include "cuda/exchange/nccl_window.h"

#if defined(SPMM_HAVE_NCCL) && __has_include(<nccl_device.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter" /* theirs */
#include <nccl_device.h>
#pragma GCC diagnostic pop

namespace
{

__global__ void resolve(ncclWindow_t window, int n_ranks, void **address)
{
    const int p = int(threadIdx.x);

    if (p < n_ranks) {
        address[p] = ncclGetLsaPointer(window, 0, p);
    }
}

} // namespace

extern "C" int spmmi_nccl_team_size(void *comm)
{
    return ncclTeamLsa((ncclComm_t)comm).nRanks;
}

extern "C" cudaError_t spmmi_nccl_peer_addresses(void *window, int n_ranks, void **address,
                                                 cudaStream_t stream)
{
    return spmmi::launch(resolve, dim3(1), dim3((unsigned)n_ranks), stream, (ncclWindow_t)window,
                         n_ranks, address);
}
#endif
