/* SPDX-License-Identifier: Apache-2.0 */
/** @file partition.c  From the name of a partitioner to a partition. */
#include "partition/partition.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "partition/partitioners.h"

#define SPMM_PARTITIONER(name) &spmmi_partitioner_##name,
const spmm_partitioner_t *const spmmi_partitioners[] = {
#include "partition/partitioner_list.h"
};
#undef SPMM_PARTITIONER
const int spmmi_n_partitioners = (int)(sizeof spmmi_partitioners / sizeof spmmi_partitioners[0]);

static spmm_status_t fail_unknown(spmm_env_t *env, const char *spec)
{
    char known[128] = "";

    for (int i = 0; i < spmmi_n_partitioners; i++) {
        const size_t used = strlen(known);

        (void)snprintf(known + used, sizeof known - used, "%s%s%s", i == 0 ? "" : ", ",
                       spmmi_partitioners[i]->name,
                       spmmi_partitioners[i] == &spmmi_partitioner_file ? ":PATH" : "");
    }
    return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT, "unknown partition '%.100s': known are %s",
                      spec, known);
}

/* Split "name" or "name:argument"; only "file" takes an argument, and needs it. */
static spmm_status_t parse(spmm_env_t *env, const char *spec, const spmm_partitioner_t **found,
                           const char **argument)
{
    const char  *colon  = strchr(spec, ':');
    const size_t length = colon == NULL ? strlen(spec) : (size_t)(colon - spec);

    *found    = NULL;
    *argument = colon == NULL ? NULL : colon + 1;
    for (int i = 0; i < spmmi_n_partitioners; i++) {
        const char *name = spmmi_partitioners[i]->name;

        if (strlen(name) == length && strncmp(name, spec, length) == 0) {
            *found = spmmi_partitioners[i];
        }
    }
    if (*found == NULL) {
        return fail_unknown(env, spec);
    }
    if (*found == &spmmi_partitioner_file) {
        if (*argument == NULL || **argument == '\0') {
            return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT,
                              "partition '%s' names no file: write file:PATH", spec);
        }
    } else if (*argument != NULL) {
        return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT,
                          "partition '%s' takes nothing after a colon", (*found)->name);
    }
    return SPMM_OK;
}

spmm_status_t spmmi_partition_options(spmm_env_t *env, spmm_partition_options_t *options)
{
    if (options->imbalance == 0.0) {
        options->imbalance = SPMM_DEFAULT_IMBALANCE;
    }
    if (!(options->imbalance >= 1.0) || isinf(options->imbalance)) {
        return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT,
                          "partition imbalance %g: the allowed max / mean is at least 1",
                          options->imbalance);
    }
    return SPMM_OK;
}

spmm_status_t spmmi_partition_create(const spmm_matrix_t *A, const char *spec,
                                     const spmm_partition_options_t *options,
                                     spmm_partition_t               *partition)
{
    spmm_partition_options_t  chosen = {0};
    const spmm_partitioner_t *partitioner;
    spmm_status_t             status;

    if (options != NULL) {
        chosen = *options;
    }
    *partition = (spmm_partition_t){0};
    status     = parse(A->env, spec == NULL ? "keep" : spec, &partitioner, &chosen.argument);
    if (status == SPMM_OK) {
        status = spmmi_partition_options(A->env, &chosen);
    }
    SPMM_TRY(spmmi_agree(A->env, status));
    return spmmi_partition_run(A, partitioner, &chosen, partition);
}
