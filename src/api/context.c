/* SPDX-License-Identifier: Apache-2.0 */
#include "api/context.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "base/nodes.h"
#include "base/same.h"
#include "device/network.h"
#include "engine/engine.h"
#include "partition/partition.h"
#include "spmm_dist/fortran.h"

/* The tables of engines, transports, partitioners and schedules, for lists. */

static spmm_status_t describe(int index, int count, const char *name, const char *description,
                              int built, spmm_component_info_t *info)
{
    const spmm_component_info_t mine = {.name = name, .description = description, .built = built};

    if (name == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "there is no component %d: there are %d", index,
                          count);
    }
    return spmmi_give_info(NULL, &mine, sizeof mine, info, "component info");
}

#define SPMM_DESCRIBE(table, count)                                                                \
    (index < 0 || index >= (count)                                                                 \
         ? describe(index, (count), NULL, NULL, 0, info)                                           \
         : describe(index, (count), (table)[index]->name, (table)[index]->description,             \
                    (table)[index]->built, info))

spmm_status_t spmm_engine_info(int index, spmm_component_info_t *info)
{
    static const spmm_engine_facts_t none;
    const bool                       known = index >= 0 && index < spmmi_n_engines;
    const spmm_engine_facts_t       *facts = known ? &spmmi_engines[index]->facts : &none;

    return describe(index, spmmi_n_engines, facts->name, facts->description, facts->lacks == NULL,
                    info);
}

spmm_status_t spmm_transport_info(int index, spmm_component_info_t *info)
{
    return SPMM_DESCRIBE(spmmi_transports, spmmi_n_transports);
}

spmm_status_t spmm_partitioner_info(int index, spmm_component_info_t *info)
{
    return SPMM_DESCRIBE(spmmi_partitioners, spmmi_n_partitioners);
}

#define CREATE "spmm_context_create"

enum { MOST_CTAS = 64 }; /* that NCCL takes */

spmm_status_t spmmi_take_options(spmm_error_t *err, const void *given, size_t given_size,
                                 void *options, size_t size, const char *what)
{
    if (given_size < sizeof(size_t) || given_size > size) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "struct_size of the %s options is %zu, this library knows %zu to %zu: "
                          "initialise them with the _INIT macro of its own header",
                          what, given_size, sizeof(size_t), size);
    }
    memcpy(options, given, given_size);
    return SPMM_OK;
}

spmm_status_t spmmi_give_info(spmm_error_t *err, const void *info, size_t size, void *to,
                              const char *what)
{
    size_t asked;

    if (to == NULL) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT, "the %s to fill is NULL", what);
    }
    memcpy(&asked, to, sizeof asked);
    if (asked < sizeof asked || asked > size) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "struct_size of the %s is %zu, this library knows %zu to %zu: set it to "
                          "sizeof the struct",
                          what, asked, sizeof asked, size);
    }
    memcpy((char *)to + sizeof asked, (const char *)info + sizeof asked, asked - sizeof asked);
    return SPMM_OK;
}

/* By the environment: neither missing nor empty nor 0. */
static bool is_on(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0' && strcmp(value, "0") != 0;
}

/* MPI_Comm_dup() would wait for ever for a rank out of reach. */
static spmm_status_t open_env(spmm_context_t *ctx, MPI_Comm comm)
{
    spmm_env_t *env = &ctx->env;
    MPI_Request request;

    env->debug = is_on("SPMM_DEBUG");
    SPMM_MPI(env, MPI_Comm_idup(comm, &ctx->begin.comm, &request));
    SPMM_TRY(spmmi_wait_request(env, &request));
    env->comm = ctx->begin.comm;
    SPMM_MPI(env, MPI_Comm_set_errhandler(env->comm, MPI_ERRORS_RETURN));
    SPMM_MPI(env, MPI_Comm_rank(env->comm, &env->rank));
    SPMM_MPI(env, MPI_Comm_size(env->comm, &env->size));
    return SPMM_OK;
}

static spmm_status_t check_options(spmm_env_t *env, const spmm_context_options_t *given,
                                   spmm_context_options_t *options)
{
    if (given != NULL) {
        SPMM_TRY(spmmi_take_options(&env->err, given, given->struct_size, options, sizeof *options,
                                    "context"));
    }
    if (!(options->timeout_s >= 0.0)) {
        return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT, "timeout_s is %g, must be >= 0",
                          options->timeout_s);
    }
    if (options->nccl_ctas < 0 || options->nccl_ctas > MOST_CTAS) {
        return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT, "nccl_ctas is %d, must be 0 to %d",
                          options->nccl_ctas, MOST_CTAS);
    }
    if (options->ranks_per_node < 0) {
        return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT, "ranks_per_node is %d, must be >= 0",
                          options->ranks_per_node);
    }
    return SPMM_OK;
}

/* NCCL does not survive ranks that configure its communicator differently.  All ranks check calls
 * where one asks for it.  Collective. */
static spmm_status_t compare_options(spmm_env_t *env, const spmm_context_options_t *options)
{
    int check = options->check != 0 || is_on("SPMM_CHECK");

    SPMM_TRY(SPMM_COMPARE(env, CREATE, SPMM_OK, spmmi_real("timeout_s", options->timeout_s),
                          spmmi_whole("nccl_ctas", options->nccl_ctas),
                          spmmi_whole("ranks_per_node", options->ranks_per_node)));
    SPMM_TRY(spmmi_allreduce(env, &check, 1, MPI_INT, MPI_MAX));
    env->check = check != 0 && env->size > 1;
    return SPMM_OK;
}

static spmm_status_t open_context(spmm_context_t *ctx, const spmm_context_options_t *given)
{
    spmm_context_options_t options = SPMM_CONTEXT_OPTIONS_INIT;

    SPMM_TRY(spmmi_agree(&ctx->env, check_options(&ctx->env, given, &options)));
    SPMM_TRY(compare_options(&ctx->env, &options));
    ctx->env.log       = options.log;
    ctx->env.log_user  = options.log_user;
    ctx->env.timeout_s = options.timeout_s;
    SPMM_TRY(spmmi_gather_hosts(&ctx->env));
    SPMM_TRY(spmmi_nodes_find(&ctx->env, options.ranks_per_node));
    SPMM_TRY(spmmi_device_open(&ctx->env, options.device, options.cuda_device, &ctx->device));
    SPMM_TRY(spmmi_network_open(&ctx->device));
    SPMM_TRY(spmmi_agree(&ctx->env, spmmi_engines_preload(&ctx->device)));
    ctx->shared.env       = &ctx->env;
    ctx->shared.device    = &ctx->device;
    ctx->shared.nccl_ctas = options.nccl_ctas;
    spmmi_log(&ctx->env, "rank %d of %d, on node %d of %d, on %s", ctx->env.rank, ctx->env.size,
              ctx->env.nodes.node[ctx->env.rank], ctx->env.nodes.count, ctx->device.description);
    return SPMM_OK;
}

static void close_context(spmm_context_t *ctx)
{
    if (ctx == NULL) {
        return;
    }
    for (int t = 0; t < spmmi_n_transports && ctx->shared.env != NULL; t++) {
        if (spmmi_transports[t]->close != NULL) {
            spmmi_transports[t]->close(&ctx->shared);
        }
    }
    spmmi_device_close(&ctx->device);
    if (ctx->env.comm != MPI_COMM_NULL && !ctx->env.lost) {
        (void)MPI_Comm_free(&ctx->env.comm);
    }
    spmmi_free(ctx->env.hosts);
    spmmi_nodes_free(&ctx->env.nodes);
    if (ctx->env.lost) { /* with the vote of an agreement that ranks may still come to */
        spmmi_alloc_leave(ctx);
    } else {
        spmmi_free(ctx);
    }
}

bool spmmi_mpi_runs(void)
{
    int initialised = 0, finalised = 0;

    (void)MPI_Initialized(&initialised);
    (void)MPI_Finalized(&finalised);
    return initialised && !finalised;
}

/* Local, but all ranks of a communicator see the same. */
static spmm_status_t check_comm(MPI_Comm comm)
{
    int inter = 0;

    if (!spmmi_mpi_runs() || comm == MPI_COMM_NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT,
                          CREATE ": call it between MPI_Init and MPI_Finalize and pass a "
                                 "communicator");
    }
    if (MPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT,
                          CREATE ": pass an intra-communicator; MPI_Intercomm_merge() "
                                 "makes one of an inter-communicator");
    }
    return SPMM_OK;
}

/* Of options that are not checked yet; 0: none. */
static double timeout_of(const spmm_context_options_t *options)
{
    const size_t end = offsetof(spmm_context_options_t, timeout_s) + sizeof options->timeout_s;

    /* A NaN, which is refused later, equals nothing: ranks would not see that theirs differ. */
    return options != NULL && options->struct_size >= end && options->timeout_s > 0.0
               ? options->timeout_s
               : 0.0;
}

/* SPMM_OK where all ranks have a context and a place for it: there is no spmmi_agree() yet.  A
 * timeout that differs is none until options are compared: with one, ranks call other functions of
 * MPI.  Collective. */
static spmm_status_t agree_on_begin(MPI_Comm comm, spmm_context_t *made, bool has_place,
                                    double timeout_s)
{
    static _Thread_local double spare[SPMM_BEGIN]; /* of a rank without memory */

    spmm_env_t  env = {.comm = MPI_COMM_NULL, .stage = CREATE, .timeout_s = timeout_s};
    double     *v   = made != NULL ? made->begin.v : spare;
    MPI_Request request;

    if (made != NULL) {
        made->env = env;
    }
    v[0] = has_place;
    v[1] = made != NULL;
    v[2] = timeout_s;
    v[3] = -timeout_s;
    SPMM_MPI(&env,
             MPI_Iallreduce(MPI_IN_PLACE, v, SPMM_BEGIN, MPI_DOUBLE, MPI_MIN, comm, &request));
    SPMM_TRY(spmmi_wait_request(&env, &request));
    if (v[0] == 0.0) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, CREATE ": ctx is NULL, on one rank at least");
    }
    if (v[1] == 0.0) {
        return spmmi_fail_memory(NULL, 1, sizeof *made, "a context, on one rank at least");
    }
    made->env.timeout_s = v[2] == -v[3] ? timeout_s : 0.0;
    return SPMM_OK;
}

spmm_status_t spmm_context_create(MPI_Comm comm, const spmm_context_options_t *options,
                                  spmm_context_t **ctx)
{
    spmm_context_t *made;
    spmm_status_t   status;

    SPMM_TRY(check_comm(comm));
    (void)SPMM_NEW_ZERO(made, 1);
    status = agree_on_begin(comm, made, ctx != NULL, timeout_of(options));
    if (status == SPMM_OK) {
        status = open_env(made, comm);
    }
    if (status == SPMM_ERR_COMM && made != NULL) { /* MPI may come back to what it was told */
        spmmi_alloc_keep(made, sizeof *made);
    }
    if (status == SPMM_OK) {
        status = open_context(made, options);
    }
    if (status != SPMM_OK) {
        close_context(made);
        return status;
    }
    *ctx = made;
    return SPMM_OK;
}

spmm_status_t spmm_context_create_f(int comm, const spmm_context_options_t *options,
                                    spmm_context_t **ctx)
{
    MPI_Comm mine = spmmi_mpi_runs() ? MPI_Comm_f2c((MPI_Fint)comm) : MPI_COMM_NULL;

    /* Open MPI answers NULL, which no call takes, to what is no communicator; in MPICH, where they
     * are integers, 0 is none. */
    if (mine == (MPI_Comm)0) {
        mine = MPI_COMM_NULL;
    }
    return spmm_context_create(mine, options, ctx);
}

spmm_status_t spmm_context_destroy(spmm_context_t **ctx)
{
    if (ctx == NULL || *ctx == NULL) {
        return SPMM_OK;
    }
    spmmi_error_clear(&(*ctx)->env.err);
    if ((*ctx)->live > 0) {
        return spmmi_fail(&(*ctx)->env.err, SPMM_ERR_ARGUMENT,
                          "%d matrices or plans of this context are alive: destroy them first",
                          (*ctx)->live);
    }
    if (!spmmi_mpi_runs()) { /* which would end the program */
        return spmmi_fail(&(*ctx)->env.err, SPMM_ERR_ARGUMENT,
                          "a context is destroyed before MPI_Finalize(), not after it");
    }
    close_context(*ctx);
    *ctx = NULL;
    return SPMM_OK;
}

const char *spmm_last_error(const spmm_context_t *ctx)
{
    return ctx == NULL ? spmmi_error_thread_text() : ctx->env.err.text;
}

spmm_status_t spmm_context_get_info(const spmm_context_t *ctx, spmm_context_info_t *info)
{
    spmm_context_info_t mine;
    spmm_error_t       *err;

    if (ctx == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_context_get_info: ctx is NULL");
    }
    err = &ctx->device.env->err;
    spmmi_error_clear(err);
    mine = (spmm_context_info_t){.rank           = ctx->env.rank,
                                 .size           = ctx->env.size,
                                 .device         = ctx->device.ops->name,
                                 .device_name    = ctx->device.description,
                                 .device_ordinal = ctx->device.ordinal,
                                 .node           = ctx->env.nodes.node[ctx->env.rank],
                                 .nodes          = ctx->env.nodes.count};
    ctx->device.ops->count_kept(&ctx->device, &mine.host_bytes, &mine.device_bytes);
    return spmmi_give_info(err, &mine, sizeof mine, info, "context info");
}

spmm_status_t spmm_buffer_alloc(spmm_context_t *ctx, size_t bytes, void **buffer)
{
    if (ctx == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_buffer_alloc: ctx is NULL");
    }
    spmmi_error_clear(&ctx->env.err);
    if (buffer == NULL) {
        return spmmi_fail(&ctx->env.err, SPMM_ERR_ARGUMENT, "spmm_buffer_alloc: buffer is NULL");
    }
    return ctx->device.ops->alloc(&ctx->device, bytes, buffer);
}

spmm_status_t spmm_buffer_free(spmm_context_t *ctx, void **buffer)
{
    if (ctx == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_buffer_free: ctx is NULL");
    }
    spmmi_error_clear(&ctx->env.err);
    if (buffer != NULL) {
        ctx->device.ops->release(&ctx->device, *buffer);
        *buffer = NULL;
    }
    return SPMM_OK;
}

spmm_status_t spmm_buffer_copy(spmm_context_t *ctx, void *dst, const void *src, size_t bytes)
{
    if (ctx == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_buffer_copy: ctx is NULL");
    }
    spmmi_error_clear(&ctx->env.err);
    if (bytes > 0 && (dst == NULL || src == NULL)) {
        return spmmi_fail(&ctx->env.err, SPMM_ERR_ARGUMENT, "spmm_buffer_copy: %s is NULL",
                          dst == NULL ? "dst" : "src");
    }
    SPMM_TRY(ctx->device.ops->copy(&ctx->device, dst, src, bytes, NULL));
    SPMM_TRY(ctx->device.ops->stream_sync(&ctx->device, NULL));
    return spmmi_transport_check(&ctx->shared);
}

spmm_status_t spmm_stream_synchronize(spmm_context_t *ctx, spmm_stream_t stream)
{
    if (ctx == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_stream_synchronize: ctx is NULL");
    }
    spmmi_error_clear(&ctx->env.err);
    SPMM_TRY(ctx->device.ops->stream_sync(&ctx->device, stream));
    return spmmi_transport_check(&ctx->shared);
}
