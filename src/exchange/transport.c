/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/transport.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SPMM_TRANSPORT(x) extern const spmm_transport_ops_t spmm_transport_##x;
#include "exchange/transport_list.h"
#undef SPMM_TRANSPORT

const spmm_transport_ops_t *const spmm_transports[] = {
#define SPMM_TRANSPORT(x) &spmm_transport_##x,
#include "exchange/transport_list.h"
#undef SPMM_TRANSPORT
};
const int spmm_n_transports = (int)(sizeof spmm_transports / sizeof spmm_transports[0]);

const spmm_transport_ops_t *spmm_transport_find(const char *name)
{
    for (int t = 0; t < spmm_n_transports; t++) {
        if (strcmp(spmm_transports[t]->name, name) == 0) {
            return spmm_transports[t];
        }
    }
    return NULL;
}

spmm_status_t spmm_transport_check(spmm_transport_shared_t *shared)
{
    for (int t = 0; t < spmm_n_transports; t++) {
        if (spmm_transports[t]->check != NULL) {
            SPMM_TRY(spmm_transports[t]->check(shared));
        }
    }
    return SPMM_OK;
}

static spmm_status_t fail_unknown(spmm_env_t *env, const char *name)
{
    char   known[SPMM_TRANSPORT_WHY] = "";
    size_t used                      = 0;

    for (int t = 0; t < spmm_n_transports && used < sizeof known; t++) {
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", t == 0 ? "" : ", ",
                                 spmm_transports[t]->name);
    }
    return spmm_fail(&env->err, SPMM_ERR_ARGUMENT,
                     "there is no transport \"%.60s\"; there are %s, and auto", name, known);
}

spmm_status_t spmm_transport_choose(spmm_transport_shared_t *shared, const char *name,
                                    const spmm_halo_t *graph, size_t row_bytes,
                                    spmm_transport_candidate_t  *candidates,
                                    const spmm_transport_ops_t **chosen)
{
    const bool    free_choice = name == NULL || strcmp(name, "auto") == 0;
    spmm_env_t   *env         = shared->env;
    spmm_status_t status      = SPMM_OK;
    int           choice      = -1;

    for (int t = spmm_n_transports - 1; t >= 0; t--) {
        spmm_transport_candidate_t *c = &candidates[t];

        c->transport = spmm_transports[t];
        c->why[0]    = '\0';
        c->usable    = c->transport->supports(shared, c->why);
        c->predicted_s =
            c->usable ? c->transport->cost(graph, row_bytes, shared->device) : INFINITY;
        if (free_choice ? c->usable : strcmp(c->transport->name, name) == 0) {
            choice = t;
        }
    }
    if (choice < 0 && !free_choice) {
        status = fail_unknown(env, name);
    } else if (choice < 0) {
        status = spmm_fail(&env->err, SPMM_ERR_UNSUPPORTED, "no transport works on %s",
                           shared->device->description);
    } else if (!candidates[choice].usable) {
        status = spmm_fail(&env->err, SPMM_ERR_UNSUPPORTED, "transport %s %s", name,
                           candidates[choice].why);
    }
    SPMM_TRY(spmm_agree(env, status));
    *chosen = spmm_transports[choice];
    return SPMM_OK;
}
