/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/transport.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SPMM_TRANSPORT(x) extern const spmm_transport_ops_t spmmi_transport_##x;
#include "exchange/transport_list.h"
#undef SPMM_TRANSPORT

const spmm_transport_ops_t *const spmmi_transports[] = {
#define SPMM_TRANSPORT(x) &spmmi_transport_##x,
#include "exchange/transport_list.h"
#undef SPMM_TRANSPORT
};
const int spmmi_n_transports = (int)(sizeof spmmi_transports / sizeof spmmi_transports[0]);

const spmm_transport_ops_t *spmmi_transport_find(const char *name)
{
    for (int t = 0; t < spmmi_n_transports; t++) {
        if (strcmp(spmmi_transports[t]->name, name) == 0) {
            return spmmi_transports[t];
        }
    }
    return NULL;
}

spmm_status_t spmmi_transport_check(spmm_transport_shared_t *shared)
{
    for (int t = 0; t < spmmi_n_transports; t++) {
        if (spmmi_transports[t]->check != NULL) {
            SPMM_TRY(spmmi_transports[t]->check(shared));
        }
    }
    return SPMM_OK;
}

static spmm_status_t fail_unknown(spmm_env_t *env, const char *name)
{
    char   known[SPMM_WHY] = "";
    size_t used            = 0;

    for (int t = 0; t < spmmi_n_transports && used < sizeof known; t++) {
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", t == 0 ? "" : ", ",
                                 spmmi_transports[t]->name);
    }
    return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT,
                      "there is no transport \"%.60s\"; there are %s, and auto", name, known);
}

/* What packing before an exchange takes.  Measured on H200: 3.5 to 4 us for few rows. */
static double pack_s(const spmm_transport_need_t *need, const spmm_device_t *device)
{
    const int64_t rows = spmmi_halo_send_rows(need->halo);

    return rows == 0 ? 0.0
                     : (device->kind == SPMM_DEVICE_CPU ? 0.0 : 3.5e-6) +
                           2.0 * (double)rows * (double)need->row_bytes / device->mem_bw;
}

/* What an exchange over @p ops takes this rank; nothing where it has no peers, so that of several
 * transports without work the first is taken. */
static double predict(const spmm_transport_ops_t *ops, const spmm_transport_need_t *need,
                      const spmm_device_t *device)
{
    const spmm_halo_t *halo = need->halo;

    if (halo->n_send_peers == 0 && halo->n_recv_peers == 0) {
        return 0.0;
    }
    return ops->cost(halo, need->row_bytes, device) +
           (need->picks && !ops->packs ? pack_s(need, device) : 0.0);
}

/* Without the consent of all ranks auto leaves the candidate alone.  Collective. */
static spmm_status_t ask_first(spmm_env_t *env, spmm_candidate_t *c)
{
    const char *refusal = c->transport->asks_first();
    int         asks    = refusal != NULL;

    SPMM_TRY(spmmi_allreduce(env, &asks, 1, MPI_INT, MPI_MAX));
    if (asks != 0 && c->usable) {
        spmmi_candidate_leave_out(
            c, "%s", refusal != NULL ? refusal : "was not consented to by another rank");
    }
    return SPMM_OK;
}

/* Ask all transports.  The predictions of the slowest rank count, so that all ranks agree. */
static spmm_status_t ask(spmm_transport_shared_t *shared, const spmm_transport_need_t *need,
                         bool automatic, spmm_candidate_t *candidates)
{
    for (int t = 0; t < spmmi_n_transports; t++) {
        const spmm_transport_ops_t *transport = spmmi_transports[t];
        spmm_candidate_t           *c         = &candidates[t];

        *c           = spmmi_candidate_new(transport->name);
        c->transport = transport;
        c->by_name   = transport->by_name || (need->packed && transport->packs);
        c->usable    = transport->supports(shared, c->why);
        if (automatic && transport->asks_first != NULL) {
            SPMM_TRY(ask_first(shared->env, c));
        }
        c->predicted_s = c->usable ? predict(transport, need, shared->device) : (double)INFINITY;
        SPMM_TRY(spmmi_allreduce(shared->env, &c->predicted_s, 1, MPI_DOUBLE, MPI_MAX));
    }
    return SPMM_OK;
}

/* Open the candidate; one that cannot be used after all becomes unusable, with the reason. */
static spmm_status_t try_open(spmm_transport_shared_t *shared, spmm_candidate_t *c)
{
    spmm_error_t *err    = &shared->env->err;
    spmm_status_t status = c->transport->open == NULL ? SPMM_OK : c->transport->open(shared);

    if (status == SPMM_ERR_UNSUPPORTED) {
        spmmi_candidate_leave_out(c, "could not be opened: %.170s", err->text);
        spmmi_error_clear(err);
        return SPMM_OK;
    }
    return status;
}

spmm_status_t spmmi_transport_choose(spmm_transport_shared_t *shared, const char *name,
                                     const spmm_transport_need_t *need,
                                     spmm_candidate_t            *candidates,
                                     const spmm_transport_ops_t **chosen)
{
    spmm_env_t *env       = shared->env;
    const bool  automatic = spmmi_candidate_is_auto(name);
    int         choice;

    SPMM_TRY(spmmi_agree(env, ask(shared, need, automatic, candidates)));
    do { /* the same on all ranks, as all that it depends on is */
        choice = automatic ? spmmi_candidate_least(candidates, spmmi_n_transports, -1)
                           : spmmi_candidate_find(candidates, spmmi_n_transports, name);
        if (choice >= 0 && candidates[choice].usable) {
            SPMM_TRY(try_open(shared, &candidates[choice]));
        }
    } while (choice >= 0 && !candidates[choice].usable && automatic);
    if (choice < 0 && !automatic) {
        return fail_unknown(env, name);
    }
    if (choice < 0) {
        return spmmi_fail(&env->err, SPMM_ERR_UNSUPPORTED, "no transport works on %s",
                          shared->device->description);
    }
    SPMM_TRY(spmmi_candidate_check(&env->err, "transport", &candidates[choice]));
    *chosen = spmmi_transports[choice];
    return SPMM_OK;
}
