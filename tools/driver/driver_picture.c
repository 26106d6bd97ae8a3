/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_picture.h"

#include <stdlib.h>
#include <string.h>

/* Phases travel between ranks as numbers. */
static const char *const phases[] = {"pack", "exchange", "local", "halo"};
enum {
    PHASES       = 4,
    SPAN_NUMBERS = 4,
    PIECE        = 1 << 20,
    SIDE_CELLS   = 120,    /* about so many on each side of the matrix */
    MOST_RANKS   = 512,    /* rank 0 holds the traffic of each pair */
    MOST_ROWS    = 1 << 26 /* and columns: each rank holds two bytes for each */
};

static int64_t sum_of(const driver_side_t *side, int ranks)
{
    int64_t sum = 0;

    for (int p = 0; p < ranks; p++) {
        sum += side->rows[p];
    }
    return sum;
}

/** Cells in proportion to rows, at least one for a rank with rows. */
static void cut_side(driver_side_t *side, int ranks)
{
    const int64_t all  = sum_of(side, ranks);
    const int64_t want = all < SIDE_CELLS ? all : SIDE_CELLS;

    side->first[0] = 0;
    for (int p = 0; p < ranks; p++) {
        const double  share = all > 0 ? (double)side->rows[p] / (double)all : 0.0;
        const int64_t cells = (int64_t)(share * (double)want + 0.5);

        side->first[p + 1] = side->first[p] + (int)(cells > 0 ? cells : side->rows[p] > 0 ? 1 : 0);
    }
    side->cells = side->first[ranks];
}

/** The cell of every original row (column) of A, on all ranks: [all], NULL without memory.  16 bits
 *  each, since every rank holds those of all.  Collective. */
static uint16_t *map_side(const driver_job_t *job, const driver_side_t *side,
                          const spmm_layout_info_t *layout)
{
    const int64_t all   = sum_of(side, job->size);
    const int64_t rows  = layout->local_rows;
    const int     cells = side->first[job->rank + 1] - side->first[job->rank];
    uint16_t     *cell  = driver_alloc(all, sizeof *cell);
    int           bad   = cell == NULL;

    MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, job->comm);
    if (bad) {
        free(cell);
        return NULL;
    }
    memset(cell, 0, (size_t)all * sizeof *cell);
    for (int64_t i = 0; i < rows; i++) {
        const double place = (double)i * cells / (double)rows;

        cell[layout->global_row[i]] = (uint16_t)(side->first[job->rank] + (int)place);
    }
    for (int64_t k = 0; k < all; k += PIECE) {
        MPI_Allreduce(MPI_IN_PLACE, cell + k, (int)(all - k < PIECE ? all - k : PIECE),
                      MPI_UINT16_T, MPI_MAX, job->comm);
    }
    return cell;
}

/** Count the entries of A in each cell, on rank 0.  Collective, agreed. */
static int count_entries(const driver_run_t *run, const spmm_layout_info_t layouts[2],
                         driver_picture_t *x)
{
    driver_job_t      *job   = run->job;
    const int          cells = x->row.cells * x->col.cells;
    uint16_t          *row   = map_side(job, &x->row, &layouts[0]);
    uint16_t          *col   = map_side(job, &x->col, &layouts[1]);
    spmm_matrix_info_t info  = {.struct_size = sizeof info};
    const int64_t     *row_ptr, *col_idx;
    const void        *values;
    int                code = DRIVER_GOOD;

    x->entries = driver_alloc(cells, sizeof *x->entries);
    if (row == NULL || col == NULL || x->entries == NULL) {
        code = driver_fail_memory(job, sum_of(&x->row, job->size) + sum_of(&x->col, job->size),
                                  sizeof *row, "a picture of the matrix");
    } else {
        code = driver_check(job, run->ctx, spmm_matrix_get_info(run->A, &info), DRIVER_OTHER);
    }
    if (code == DRIVER_GOOD) {
        code = driver_check(job, run->ctx, spmm_matrix_get_csr(run->A, &row_ptr, &col_idx, &values),
                            DRIVER_OTHER);
    }
    code = driver_agree(job, code);
    if (code == DRIVER_GOOD) {
        memset(x->entries, 0, (size_t)cells * sizeof *x->entries);
        for (int64_t i = 0; i < info.local_rows; i++) {
            int64_t *of_row = x->entries + row[info.first_row + i] * x->col.cells;

            for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
                of_row[col[col_idx[k]]]++;
            }
        }
        MPI_Reduce(job->rank == 0 ? MPI_IN_PLACE : x->entries, x->entries, cells, MPI_INT64_T,
                   MPI_SUM, 0, job->comm);
    }
    free(row);
    free(col);
    return code;
}

/** Traffic and time lines of all ranks, on rank 0.  Collective, agreed. */
static int collect_ranks(const driver_run_t *run, driver_picture_t *x)
{
    driver_job_t *job  = run->job;
    const int     room = SPMM_MOST_SPANS * SPAN_NUMBERS;
    int64_t      *rows = driver_alloc(job->size, sizeof *rows);
    double       *all  = driver_alloc((int64_t)job->size * room, sizeof *all);
    double        mine[SPMM_MOST_SPANS * SPAN_NUMBERS] = {0};
    spmm_span_t   spans[SPMM_MOST_SPANS];
    int           count = 0;
    int           code  = DRIVER_GOOD;

    if (rows == NULL || all == NULL) {
        code = driver_fail_memory(job, (int64_t)job->size * room, sizeof *all, "time lines");
    } else {
        code = driver_check(job, run->ctx, spmm_plan_get_traffic(run->plan, rows), DRIVER_OTHER);
    }
    if (code == DRIVER_GOOD) {
        code = driver_check(job, run->ctx,
                            spmm_plan_get_timeline(run->plan, SPMM_MOST_SPANS, spans, &count),
                            DRIVER_OTHER);
    }
    code = driver_agree(job, code);
    if (code == DRIVER_GOOD) {
        for (int k = 0; k < count; k++) {
            int phase = 0;

            while (phase + 1 < PHASES && strcmp(phases[phase], spans[k].phase) != 0) {
                phase++;
            }
            memcpy(mine + k * SPAN_NUMBERS,
                   (double[]){phase, spans[k].chunk, spans[k].from_s, spans[k].to_s},
                   SPAN_NUMBERS * sizeof *mine);
        }
        MPI_Gather(rows, job->size, MPI_INT64_T, x->traffic, job->size, MPI_INT64_T, 0, job->comm);
        MPI_Gather(&run->report->context.node, 1, MPI_INT, x->node, 1, MPI_INT, 0, job->comm);
        MPI_Gather(&count, 1, MPI_INT, x->n_spans, 1, MPI_INT, 0, job->comm);
        MPI_Gather(mine, room, MPI_DOUBLE, all, room, MPI_DOUBLE, 0, job->comm);
        for (int k = 0; job->rank == 0 && k < job->size * SPMM_MOST_SPANS; k++) {
            const double *from = all + k * SPAN_NUMBERS;

            x->spans[k] = (spmm_span_t){phases[(int)from[0]], (int)from[1], from[2], from[3]};
        }
    }
    free(rows);
    free(all);
    return code;
}

static bool alloc_side(const driver_job_t *job, driver_side_t *side)
{
    side->rows  = driver_alloc(job->size, sizeof *side->rows);
    side->first = driver_alloc((int64_t)job->size + 1, sizeof *side->first);
    return side->rows != NULL && side->first != NULL;
}

/** Collective, agreed. */
static int collect(const driver_run_t *run, driver_picture_t *x)
{
    const spmm_operand_t of_row = run->options->op == SPMM_OP_N ? SPMM_OPERAND_C : SPMM_OPERAND_B;
    driver_job_t        *job    = run->job;
    spmm_layout_info_t   layout[2] = {{.struct_size = sizeof layout[0]},
                                      {.struct_size = sizeof layout[1]}};
    const int64_t        pairs     = (int64_t)job->size * job->size;
    int                  code;

    code = driver_check(job, run->ctx, spmm_plan_get_layout(run->plan, of_row, &layout[0]),
                        DRIVER_OTHER);
    if (code == DRIVER_GOOD) {
        code = driver_check(
            job, run->ctx,
            spmm_plan_get_layout(
                run->plan, of_row == SPMM_OPERAND_C ? SPMM_OPERAND_B : SPMM_OPERAND_C, &layout[1]),
            DRIVER_OTHER);
    }
    x->ranks   = job->size;
    x->traffic = driver_alloc(pairs, sizeof *x->traffic);
    x->n_spans = driver_alloc(job->size, sizeof *x->n_spans);
    x->node    = driver_alloc(job->size, sizeof *x->node);
    x->spans   = driver_alloc((int64_t)job->size * SPMM_MOST_SPANS, sizeof *x->spans);
    if (code == DRIVER_GOOD &&
        !(alloc_side(job, &x->row) && alloc_side(job, &x->col) && x->traffic != NULL &&
          x->n_spans != NULL && x->node != NULL && x->spans != NULL)) {
        code = driver_fail_memory(job, pairs, sizeof *x->traffic, "a picture");
    }
    code = driver_agree(job, code);
    if (code != DRIVER_GOOD) {
        return code;
    }
    MPI_Allgather(&layout[0].local_rows, 1, MPI_INT64_T, x->row.rows, 1, MPI_INT64_T, job->comm);
    MPI_Allgather(&layout[1].local_rows, 1, MPI_INT64_T, x->col.rows, 1, MPI_INT64_T, job->comm);
    cut_side(&x->row, job->size);
    cut_side(&x->col, job->size);
    code = count_entries(run, layout, x);
    return code == DRIVER_GOOD ? collect_ranks(run, x) : code;
}

int driver_picture_collect(const driver_run_t *run, driver_picture_t *picture)
{
    const spmm_matrix_info_t *matrix = &run->report->matrix;

    if (run->job->size > MOST_RANKS || matrix->rows > MOST_ROWS || matrix->cols > MOST_ROWS) {
        return DRIVER_GOOD;
    }
    return collect(run, picture);
}

void driver_picture_free(driver_picture_t *x)
{
    free(x->row.rows);
    free(x->row.first);
    free(x->col.rows);
    free(x->col.first);
    free(x->entries);
    free(x->traffic);
    free(x->n_spans);
    free(x->node);
    free(x->spans);
    *x = (driver_picture_t){0};
}
