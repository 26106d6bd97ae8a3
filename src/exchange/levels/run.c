/* SPDX-License-Identifier: Apache-2.0 */
/** @file run.c
 *  In the order of one stream, forward and back:
 *
 *      begin   packed rows -> collect -> copy -> cross begins
 *              halo rows -> deal backwards -> sums for a row, in the order of ranks -> cross begins
 *      end     cross ends -> copy -> deal -> halo rows
 *              cross ends -> copy -> collect backwards -> mirror rows
 */
#include "exchange/levels/state.h"
#include "spmm_dist/context.h"

/** One exchange. */
typedef struct {
    spmm_levels_t         *levels;
    const spmm_exchange_t *what;
    spmm_stream_t          stream;
} call_t;

static char *place(const call_t *c, spmm_room_part_t part)
{
    return (char *)c->levels->room + (size_t)c->levels->lists.room[part] * c->what->row_bytes;
}

static spmm_exchange_t part_of(const call_t *c, int part)
{
    spmm_exchange_t x = {
        .direction = c->what->direction, .row_bytes = c->what->row_bytes, .step = c->what->step};

    x.mirror = part == SPMM_COLLECT ? c->what->mirror
               : part == SPMM_CROSS ? (void *)place(c, SPMM_ROOM_TO_CROSS)
                                    : (void *)place(c, SPMM_ROOM_TO_DEAL);
    x.halo   = place(c, part == SPMM_COLLECT ? SPMM_ROOM_COLLECTED
                        : part == SPMM_CROSS ? SPMM_ROOM_CROSSED
                                             : SPMM_ROOM_DEALT);
    return x;
}

static spmm_status_t begin_part(const call_t *c, int part)
{
    const spmm_exchange_t x = part_of(c, part);

    return c->levels->transport->begin(c->levels->state[part], &x, c->stream);
}

static spmm_status_t end_part(const call_t *c, int part)
{
    const spmm_exchange_t x = part_of(c, part);

    return c->levels->transport->end(c->levels->state[part], &x, c->stream);
}

static spmm_status_t run_part(const call_t *c, int part)
{
    SPMM_TRY(begin_part(c, part));
    return end_part(c, part);
}

/* Rows @p list of @p from, one after the other, to @p to. */
static spmm_status_t gather(const call_t *c, const void *from, const spmm_levels_list_t *list,
                            void *to)
{
    const spmm_device_t     *device = c->levels->shared->device;
    const size_t             elem   = spmm_type_size(c->levels->type);
    const int64_t            n      = (int64_t)(c->what->row_bytes / elem);
    const spmm_gather_args_t args   = {.src        = from,
                                       .ld_src     = n,
                                       .src_layout = SPMM_LAYOUT_ROW,
                                       .row        = list->row,
                                       .n_rows     = list->count,
                                       .n          = n,
                                       .elem_size  = elem,
                                       .dst        = to};

    return list->count == 0 ? SPMM_OK : device->ops->gather_rows(device, &args, c->stream);
}

/* The rows behind those to collect: SELF and DIRECT, in one piece there as here. */
static char *mirror_behind(const call_t *c)
{
    return (char *)c->what->mirror +
           (size_t)spmmi_halo_send_rows(&c->levels->lists.collect) * c->what->row_bytes;
}

static spmm_status_t begin_forward(const call_t *c)
{
    const spmm_levels_t *l     = c->levels;
    const size_t         bytes = (size_t)l->lists.room[SPMM_ROOM_COLLECTED] * c->what->row_bytes;

    if (bytes > 0) {
        SPMM_TRY(l->shared->device->ops->copy(l->shared->device, l->room, mirror_behind(c), bytes,
                                              c->stream));
    }
    SPMM_TRY(run_part(c, SPMM_COLLECT));
    SPMM_TRY(gather(c, l->room, &l->to_cross, place(c, SPMM_ROOM_TO_CROSS)));
    return begin_part(c, SPMM_CROSS);
}

static spmm_status_t end_forward(const call_t *c)
{
    const spmm_levels_t *l = c->levels;

    SPMM_TRY(end_part(c, SPMM_CROSS));
    SPMM_TRY(gather(c, l->room, &l->to_deal, place(c, SPMM_ROOM_TO_DEAL)));
    SPMM_TRY(run_part(c, SPMM_DEAL));
    return gather(c, l->room, &l->to_halo, c->what->halo);
}

static spmm_status_t add(const call_t *c)
{
    const spmm_levels_t          *l      = c->levels;
    const spmm_device_t          *device = l->shared->device;
    const int64_t                 n      = (int64_t)(c->what->row_bytes / spmm_type_size(l->type));
    const spmm_scatter_add_args_t args   = {.src        = l->room,
                                            .src_type   = l->type,
                                            .row        = l->sums.row,
                                            .ptr        = l->sums.ptr,
                                            .pos        = l->sums.pos,
                                            .n_rows     = l->sums.n_rows,
                                            .n          = n,
                                            .alpha      = {.re = 1.0},
                                            .dst        = l->room,
                                            .dst_type   = l->type,
                                            .ld_dst     = n,
                                            .dst_layout = SPMM_LAYOUT_ROW};

    return args.n_rows == 0 ? SPMM_OK : device->ops->scatter_add_rows(device, &args, c->stream);
}

static spmm_status_t begin_back(const call_t *c)
{
    const spmm_levels_t *l = c->levels;

    SPMM_TRY(gather(c, c->what->halo, &l->dealt, place(c, SPMM_ROOM_DEALT)));
    SPMM_TRY(gather(c, c->what->halo, &l->own, place(c, SPMM_ROOM_OWN)));
    SPMM_TRY(run_part(c, SPMM_DEAL));
    SPMM_TRY(gather(c, l->room, &l->crossed, place(c, SPMM_ROOM_CROSSED)));
    SPMM_TRY(add(c));
    return begin_part(c, SPMM_CROSS);
}

static spmm_status_t end_back(const call_t *c)
{
    const spmm_levels_t *l  = c->levels;
    char                *to = mirror_behind(c);

    SPMM_TRY(end_part(c, SPMM_CROSS));
    SPMM_TRY(gather(c, l->room, &l->collected, place(c, SPMM_ROOM_COLLECTED)));
    SPMM_TRY(run_part(c, SPMM_COLLECT));
    SPMM_TRY(gather(c, l->room, &l->self, to));
    return gather(c, l->room, &l->direct, to + (size_t)l->self.count * c->what->row_bytes);
}

/* Those who wait for rows of this rank in the parts from @p part on get a step that none has. */
static void tell_failure(const call_t *c, int from, int step)
{
    const spmm_levels_t *l = c->levels;

    for (int part = from; part >= 0 && part < SPMM_LEVELS_PARTS && l->transport->sees_steps;
         part += step) {
        spmm_exchange_t x = part_of(c, part);

        x.row_bytes = 1;
        x.step      = SPMM_STEP_LOST;
        (void)l->transport->begin(l->state[part], &x, c->stream);
    }
}

static spmm_status_t check(spmm_levels_t *l)
{
    return l->failed ? spmmi_fail(&l->shared->env->err, SPMM_ERR_COMM,
                                  "an earlier exchange of this plan failed: destroy the plan and "
                                  "its context")
                     : SPMM_OK;
}

/* What came of begin() or end(); the parts from @p next on have not begun. */
static spmm_status_t finish(const call_t *c, spmm_status_t status, int next)
{
    if (status != SPMM_OK) {
        c->levels->failed = true;
        tell_failure(c, next, c->what->direction == SPMM_HALO_FORWARD ? 1 : -1);
    }
    return status;
}

spmm_status_t spmmi_levels_begin(spmm_levels_t *l, const spmm_exchange_t *exchange,
                                 spmm_stream_t stream)
{
    const call_t c = {.levels = l, .what = exchange, .stream = stream};

    SPMM_TRY(check(l));
    return finish(&c, l->direction == SPMM_HALO_FORWARD ? begin_forward(&c) : begin_back(&c),
                  SPMM_CROSS);
}

spmm_status_t spmmi_levels_end(spmm_levels_t *l, const spmm_exchange_t *exchange,
                               spmm_stream_t stream)
{
    const call_t c = {.levels = l, .what = exchange, .stream = stream};

    return l->direction == SPMM_HALO_FORWARD ? finish(&c, end_forward(&c), SPMM_DEAL)
                                             : finish(&c, end_back(&c), SPMM_COLLECT);
}
