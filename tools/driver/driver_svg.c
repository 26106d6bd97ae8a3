/* SPDX-License-Identifier: Apache-2.0 */
/** @file driver_svg.c  The picture: matrix on the left, traffic on the right, time lines below. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "driver_plot.h"

/* Pixels. */
enum {
    WIDTH  = 1000,
    LEFT   = 60,
    TOP    = 84,
    SIDE   = 420, /* of matrix and traffic */
    RIGHT  = 560, /* left edge of the traffic */
    BELOW  = 590, /* upper edge of the time lines */
    LINE   = 880, /* their length */
    LEVELS = 4    /* of density */
};

/** Ten hues that also differ in grey; ranks beyond take them again. */
static const char *rank_colour(int rank)
{
    static const char *const colours[] = {"#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee",
                                          "#aa3377", "#dd8452", "#55a868", "#8172b3", "#937860"};

    return colours[rank % 10];
}

static const char *phase_colour(const char *phase)
{
    return strcmp(phase, "pack") == 0       ? "#ccbb44"
           : strcmp(phase, "exchange") == 0 ? "#ee6677"
           : strcmp(phase, "local") == 0    ? "#4477aa"
                                            : "#228833";
}

/** Text of a user in XML: markup escaped, what no XML may hold replaced. */
static void put_escaped(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;

        if (c == '&' || c == '<' || c == '>' || c == '"') {
            (void)fprintf(out, "&#%d;", c);
        } else {
            (void)fputc(c < 0x20 || c >= 0x7f ? '?' : c, out);
        }
    }
}

static void put_label(FILE *out, double x, double y, const char *anchor, const char *text)
{
    (void)fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor,
                  text);
}

/** A number in a cell that is as dark as @p part of 1. */
static void put_number(FILE *out, double x, double y, double part, int64_t value)
{
    (void)fprintf(
        out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" fill=\"%s\">%" PRId64 "</text>\n",
        x, y, part > 0.5 ? "white" : "black", value);
}

/** 1 to LEVELS, by the logarithm of the entries of a cell; 0: empty. */
static int level_of(int64_t entries, int64_t most)
{
    int level;

    if (entries == 0) {
        return 0;
    }
    level = 1 + (int)(LEVELS * log((double)entries) / log((double)most + 1.0));
    return level < LEVELS ? level : LEVELS;
}

static int64_t most_of(const int64_t *values, int64_t n)
{
    int64_t most = 0;

    for (int64_t k = 0; k < n; k++) {
        most = values[k] > most ? values[k] : most;
    }
    return most;
}

/** The cells of one rank and level, as one path of horizontal runs. */
static void put_cells(FILE *out, const driver_picture_t *x, int rank, int level, int64_t most)
{
    bool open = false;

    for (int i = x->row.first[rank]; i < x->row.first[rank + 1]; i++) {
        const int64_t *of_row = x->entries + (int64_t)i * x->col.cells;

        for (int j = 0; j < x->col.cells; j++) {
            int run = 0;

            while (j + run < x->col.cells && level_of(of_row[j + run], most) == level) {
                run++;
            }
            if (run > 0) {
                if (!open) {
                    (void)fprintf(out, "<path fill=\"%s\" fill-opacity=\"%.2f\" d=\"",
                                  rank_colour(rank), 0.25 + 0.75 * level / LEVELS);
                }
                open = true;
                (void)fprintf(out, "M%d %dh%dv1h-%dz", j, i, run, run);
                j += run - 1;
            }
        }
    }
    if (open) {
        (void)fputs("\"/>\n", out);
    }
}

static void draw_matrix(FILE *out, const driver_report_t *r, const driver_picture_t *x)
{
    const double  tall  = r->matrix.rows >= r->matrix.cols
                              ? 1.0
                              : fmax(0.25, (double)r->matrix.rows / (double)r->matrix.cols);
    const double  wide  = r->matrix.rows <= r->matrix.cols
                              ? 1.0
                              : fmax(0.25, (double)r->matrix.cols / (double)r->matrix.rows);
    const double  width = SIDE * wide, height = SIDE * tall;
    const int64_t most = most_of(x->entries, (int64_t)x->row.cells * x->col.cells);

    put_label(out, LEFT, TOP - 12, "start",
              "A in the order of the plan; a colour for the rows of each rank");
    if (x->row.cells == 0 || x->col.cells == 0) {
        return;
    }
    (void)fprintf(out, "<g transform=\"translate(%d %d) scale(%.5f %.5f)\">\n", LEFT, TOP,
                  width / x->col.cells, height / x->row.cells);
    for (int p = 0; p < x->ranks; p++) { /* the local block */
        (void)fprintf(out,
                      "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\" "
                      "fill-opacity=\"0.12\"/>\n",
                      x->col.first[p], x->row.first[p], x->col.first[p + 1] - x->col.first[p],
                      x->row.first[p + 1] - x->row.first[p], rank_colour(p));
        for (int level = 1; level <= LEVELS; level++) {
            put_cells(out, x, p, level, most);
        }
    }
    (void)fprintf(out,
                  "</g>\n<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" "
                  "stroke=\"#888\"/>\n",
                  LEFT, TOP, width, height);
}

static void draw_traffic(FILE *out, const driver_picture_t *x)
{
    const double  cell = (double)SIDE * 0.85 / x->ranks;
    const int64_t most = most_of(x->traffic, (int64_t)x->ranks * x->ranks);

    put_label(out, RIGHT, TOP - 12, "start", "rows that a rank (down) receives from each (across)");
    for (int to = 0; to < x->ranks; to++) {
        for (int from = 0; from < x->ranks; from++) {
            const int64_t rows = x->traffic[to * x->ranks + from];
            const double  part = most > 0 ? (double)rows / (double)most : 0.0;
            const double  left = RIGHT + from * cell, top = TOP + to * cell;

            (void)fprintf(out,
                          "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
                          "fill=\"%s\" fill-opacity=\"%.3f\"%s><title>rank %d from rank %d: "
                          "%" PRId64 " rows</title></rect>\n",
                          left, top, cell, cell, to == from ? "#999999" : "#aa3377",
                          to == from ? 0.15 : part, x->ranks <= 64 ? " stroke=\"#ddd\"" : "", to,
                          from, rows);
            if (x->ranks <= 8 && to != from) {
                put_number(out, left + cell / 2, top + cell / 2 + 4, part, rows);
            }
        }
    }
    for (int p = 0; p < x->ranks && x->ranks <= 16; p++) {
        char text[16];

        (void)snprintf(text, sizeof text, "%d", p);
        put_label(out, RIGHT - 8, TOP + (p + 0.5) * cell + 4, "end", text);
        put_label(out, RIGHT + (p + 0.5) * cell, TOP + x->ranks * cell + 14, "middle", text);
    }
}

static void put_line(FILE *out, double x, double y, double to_x, double to_y)
{
    (void)fprintf(out,
                  "<line class=\"node\" x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" "
                  "stroke=\"#222\"/>\n",
                  x, y, to_x, to_y);
}

/** Lines between ranks that follow each other on different nodes. */
static void draw_nodes(FILE *out, const driver_picture_t *x)
{
    const double all = (double)SIDE * 0.85;

    for (int p = 1; p < x->ranks; p++) {
        const double at = all * p / x->ranks;

        if (x->node[p] != x->node[p - 1]) {
            put_line(out, RIGHT + at, TOP, RIGHT + at, TOP + all);
            put_line(out, RIGHT, TOP + at, RIGHT + all, TOP + at);
        }
    }
}

static double end_of(const driver_picture_t *x)
{
    double end = 0.0;

    for (int p = 0; p < x->ranks; p++) {
        for (int k = 0; k < x->n_spans[p]; k++) {
            end = fmax(end, x->spans[p * SPMM_MOST_SPANS + k].to_s);
        }
    }
    return end;
}

/** Two lanes a rank: what moves rows, and what multiplies. */
static void draw_rank(FILE *out, const driver_picture_t *x, int rank, double end, double lane)
{
    const double top = BELOW + 2.0 * lane * 1.2 * rank;

    for (int k = 0; k < x->n_spans[rank]; k++) {
        const spmm_span_t *s     = &x->spans[rank * SPMM_MOST_SPANS + k];
        const bool         moves = s->phase[0] == 'p' || s->phase[0] == 'e';

        (void)fprintf(out,
                      "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\">"
                      "<title>rank %d %s %d: %.3f to %.3f us</title></rect>\n",
                      LEFT + LINE * s->from_s / end, top + (moves ? 0.0 : lane),
                      fmax(0.3, LINE * (s->to_s - s->from_s) / end), lane, phase_colour(s->phase),
                      rank, s->phase, s->chunk, 1e6 * s->from_s, 1e6 * s->to_s);
    }
    if (x->ranks <= 32) {
        char text[16];

        (void)snprintf(text, sizeof text, "%d", rank);
        put_label(out, LEFT - 8, top + lane + 4, "end", text);
    }
}

static void draw_times(FILE *out, const driver_picture_t *x, double lane)
{
    static const char *const names[] = {"pack", "exchange", "local", "halo"};

    const double end    = end_of(x);
    const double bottom = BELOW + 2.0 * lane * 1.2 * x->ranks;
    char         text[64];

    put_label(out, LEFT, BELOW - 14, "start",
              end > 0.0 ? "the last product on each rank"
                        : "phases were not timed (--graph), so there is no time line");
    if (end <= 0.0) {
        return;
    }
    for (int k = 0; k < 4; k++) {
        (void)fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/>\n",
                      RIGHT + 90 * k, BELOW - 24, phase_colour(names[k]));
        put_label(out, RIGHT + 90 * k + 17, BELOW - 14, "start", names[k]);
    }
    for (int p = 0; p < x->ranks; p++) {
        draw_rank(out, x, p, end, lane);
    }
    for (int k = 0; k <= 4; k++) {
        (void)snprintf(text, sizeof text, end < 1e-3 ? "%.4g us" : "%.4g ms",
                       (end < 1e-3 ? 1e6 : 1e3) * end * k / 4);
        put_label(out, LEFT + LINE * k / 4.0, bottom + 16,
                  k == 0   ? "start"
                  : k == 4 ? "end"
                           : "middle",
                  text);
    }
}

void driver_draw(FILE *out, const driver_options_t *options, const driver_report_t *report,
                 const driver_picture_t *picture)
{
    const double lane = fmax(2.0, fmin(14.0, 250.0 / picture->ranks));
    const double tall = BELOW + 2.4 * lane * picture->ranks + 30.0;

    (void)fprintf(out,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
                  "viewBox=\"0 0 %d %.0f\" font-family=\"sans-serif\" font-size=\"13\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                  (int)WIDTH, tall, (int)WIDTH, tall);
    (void)fprintf(out, "<text x=\"%d\" y=\"28\" font-size=\"18\">", (int)LEFT);
    put_escaped(out, options->matrix != NULL ? options->matrix : options->generate);
    (void)fprintf(out,
                  "</text>\n<text x=\"%d\" y=\"48\">%" PRId64 " x %" PRId64 ", %" PRId64
                  " entries; %d ranks, partition %s, %" PRId64 " rows travel; engine %s, schedule "
                  "%s, transport %s</text>\n",
                  (int)LEFT, report->matrix.rows, report->matrix.cols, report->matrix.nnz,
                  picture->ranks, report->stats.partition, report->stats.halo_rows_total,
                  report->engine, report->stats.schedule,
                  report->stats.transport != NULL ? report->stats.transport : "-");
    draw_matrix(out, report, picture);
    draw_traffic(out, picture);
    draw_nodes(out, picture);
    draw_times(out, picture, lane);
    (void)fputs("</svg>\n", out);
}
