/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/flow.h"

#include <math.h>

#include "device/network.h"

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

double spmmi_way_s(const spmm_halo_t *halo, spmm_way_t way, size_t row_bytes,
                   const spmm_device_t *device)
{
    const spmm_nodes_t     *nodes           = &device->env->nodes;
    spmm_halo_flow_t        flow[SPMM_WAYS] = {{0}};
    const spmm_halo_flow_t *f               = &flow[way];
    spmm_load_t             load;
    int                     k;

    if (nodes->count <= 1) {
        return 0.0;
    }
    k = nodes->node[device->env->rank];
    spmmi_halo_flow(halo, device->env, flow);
    load = (spmm_load_t){greater(f->messages_in, f->messages_out),
                         (double)greater(f->rows_in, f->rows_out) * (double)row_bytes,
                         (double)halo->node_rows * (double)row_bytes /
                             (nodes->first[k + 1] - nodes->first[k])};
    return spmmi_network_time(&device->network, way, &load);
}

double spmmi_ways_s(const spmm_halo_t *halo, size_t row_bytes, const spmm_device_t *device,
                    double rate)
{
    spmm_halo_flow_t        flow[SPMM_WAYS] = {{0}};
    const spmm_halo_flow_t *within          = &flow[SPMM_WITHIN];

    spmmi_halo_flow(halo, device->env, flow);
    return fmax((double)greater(within->rows_in, within->rows_out) * (double)row_bytes / rate,
                spmmi_way_s(halo, SPMM_BETWEEN, row_bytes, device));
}
