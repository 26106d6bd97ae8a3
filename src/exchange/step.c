/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/step.h"

#include "base/comm.h"

spmm_status_t spmmi_fail_step(spmm_env_t *env, int peer, uint32_t came, uint32_t expected)
{
    const unsigned chunks = SPMM_MOST_CHUNKS;
    char           who[SPMM_RANK_NAME];

    if (came == SPMM_STEP_LOST) {
        return spmmi_fail(&env->err, SPMM_ERR_COMM,
                          "%s has no rows to pass on to rank %d: an exchange of its node failed; "
                          "destroy the plan and its context",
                          spmmi_rank_name(env, peer, who), env->rank);
    }
    if (came / chunks == expected / chunks) {
        return spmmi_fail(&env->err, SPMM_ERR_COMM,
                          "chunk %u of columns came from %s where chunk %u was expected: is n "
                          "the same on both? destroy the plan and its context",
                          came % chunks, spmmi_rank_name(env, peer, who), expected % chunks);
    }
    return spmmi_fail(&env->err, SPMM_ERR_COMM,
                      "%s is out of step with rank %d: %u of its executes of this plan were "
                      "refused or failed before rows travelled, and %u here; destroy the plan and "
                      "its context",
                      spmmi_rank_name(env, peer, who), env->rank, came / chunks, expected / chunks);
}

spmm_status_t spmmi_fail_bytes_came(spmm_env_t *env, int peer, const char *of, size_t came,
                                    size_t expected)
{
    char who[SPMM_RANK_NAME];

    return spmmi_fail(&env->err, SPMM_ERR_COMM,
                      "%s%zu bytes came from %s where %zu were expected: is n the same on "
                      "both? destroy the plan and its context",
                      of, came, spmmi_rank_name(env, peer, who), expected);
}
