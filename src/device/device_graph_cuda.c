/* SPDX-License-Identifier: Apache-2.0 */
#include "device/device_cuda.h"

/* A spmm_graph_t is a cudaGraphExec_t: the graph it was made from is not kept. */
static cudaGraphExec_t exec_of(spmm_graph_t *graph)
{
    return (cudaGraphExec_t)(void *)graph;
}

/* Of this thread alone: others, such as the watchdog's or the program's, go on as they like. */
spmm_status_t spmmi_cuda_graph_begin(const spmm_device_t *device, spmm_stream_t stream)
{
    SPMM_TRY(spmmi_cuda_use(device));
    SPMM_CUDA(device,
              cudaStreamBeginCapture((cudaStream_t)stream, cudaStreamCaptureModeThreadLocal));
    return SPMM_OK;
}

spmm_status_t spmmi_cuda_graph_end(const spmm_device_t *device, spmm_stream_t stream,
                                   spmm_graph_t **graph)
{
    cudaGraph_t     recorded = NULL;
    cudaGraphExec_t exec     = NULL;
    spmm_status_t   status;

    *graph = NULL;
    SPMM_TRY(spmmi_cuda_use(device));
    status = spmmi_cuda_check(device, cudaStreamEndCapture((cudaStream_t)stream, &recorded),
                              "cudaStreamEndCapture");
    if (status == SPMM_OK) {
        /* Else nodes of the comm stream would wait behind the local block. */
        status = spmmi_cuda_check(
            device, cudaGraphInstantiate(&exec, recorded, cudaGraphInstantiateFlagUseNodePriority),
            "cudaGraphInstantiate");
    }
    if (recorded != NULL) {
        spmmi_cuda_warn(device, cudaGraphDestroy(recorded), "cudaGraphDestroy");
    }
    *graph = (spmm_graph_t *)(void *)exec;
    return status;
}

spmm_status_t spmmi_cuda_graph_launch(const spmm_device_t *device, spmm_graph_t *graph,
                                      spmm_stream_t stream)
{
    SPMM_TRY(spmmi_cuda_use(device));
    SPMM_CUDA(device, cudaGraphLaunch(exec_of(graph), (cudaStream_t)stream));
    return SPMM_OK;
}

void spmmi_cuda_graph_destroy(const spmm_device_t *device, spmm_graph_t *graph)
{
    if (graph != NULL) {
        spmmi_cuda_warn(device, cudaGraphExecDestroy(exec_of(graph)), "cudaGraphExecDestroy");
    }
}
