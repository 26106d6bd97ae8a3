/* SPDX-License-Identifier: Apache-2.0 */
/** @file svg.c  Predicted time over ranks, both by their logarithms. */
#include <math.h>
#include <string.h>

#include "base/output.h"
#include "scale.h"

enum { WIDTH = 720, HEIGHT = 440, LEFT = 70, RIGHT = 470, TOP = 40, BOTTOM = 390 };

typedef struct {
    double from_x, to_x, from_y, to_y; /* logarithms */
} frame_t;

static double place_x(const frame_t *f, double ranks)
{
    return LEFT + (RIGHT - LEFT) * (log2(ranks) - f->from_x) / (f->to_x - f->from_x);
}

static double place_y(const frame_t *f, double seconds)
{
    return BOTTOM - (BOTTOM - TOP) * (log10(seconds) - f->from_y) / (f->to_y - f->from_y);
}

static double least_seconds(const scale_row_t *row)
{
    return fmax(row->seconds[row->limit], 1e-9);
}

static frame_t find_frame(const scale_t *scale)
{
    frame_t f = {.from_x = 20.0, .from_y = 9.0, .to_y = -9.0};

    for (int k = 0; k < scale->n_cases; k++) {
        const scale_case_t *c = &scale->item[k];

        f.from_x = fmin(f.from_x, log2(c->ranks));
        f.to_x   = fmax(f.to_x, log2(c->ranks) + 1e-6);
        for (int r = 0; r < c->n_rows; r++) {
            f.from_y = fmin(f.from_y, floor(log10(least_seconds(&c->row[r]))));
            f.to_y   = fmax(f.to_y, ceil(log10(least_seconds(&c->row[r])) + 1e-6));
        }
    }
    return f;
}

/* The row of @p c that is the same way as @p like; NULL: it has none. */
static const scale_row_t *find_row(const scale_case_t *c, const scale_row_t *like)
{
    for (int r = 0; r < c->n_rows; r++) {
        const scale_row_t *row = &c->row[r];

        if (row->nodes_first == like->nodes_first && row->groups == like->groups &&
            strcmp(row->exchange, like->exchange) == 0) {
            return row;
        }
    }
    return NULL;
}

static void draw_line(FILE *out, const scale_t *scale, const frame_t *f, const scale_row_t *like,
                      int number)
{
    static const char *const colours[] = {"#4477aa", "#66ccee", "#228833", "#ccbb44",
                                          "#ee6677", "#aa3377", "#dd8452", "#55a868",
                                          "#8172b3", "#937860", "#444444", "#bbbbbb"};

    const char *colour = colours[number % 12];

    (void)fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"",
                  colour);
    for (int k = 0; k < scale->n_cases; k++) {
        const scale_row_t *row = find_row(&scale->item[k], like);

        if (row != NULL) {
            (void)fprintf(out, "%.1f,%.1f ", place_x(f, scale->item[k].ranks),
                          place_y(f, least_seconds(row)));
        }
    }
    (void)fprintf(out,
                  "\"/>\n<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/>\n"
                  "<text x=\"%d\" y=\"%d\">",
                  RIGHT + 16, TOP + 22 * number, colour, RIGHT + 34, TOP + 22 * number + 11);
    (void)fprintf(out, "%s%s", like->exchange, like->nodes_first ? ", nodes first" : "");
    if (like->groups > 1) {
        (void)fprintf(out, ", %d column groups", like->groups);
    }
    (void)fputs("</text>\n", out);
}

static void draw_axes(FILE *out, const scale_t *scale, const frame_t *f)
{
    for (double y = f->from_y; y <= f->to_y; y += 1.0) {
        const double at = place_y(f, pow(10.0, y));

        (void)fprintf(out,
                      "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>\n"
                      "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g ms</text>\n",
                      LEFT, at, RIGHT, at, LEFT - 6, at + 4.0, pow(10.0, y + 3.0));
    }
    for (int k = 0; k < scale->n_cases; k++) {
        (void)fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d</text>\n",
                      place_x(f, scale->item[k].ranks), BOTTOM + 18, scale->item[k].ranks);
    }
    (void)fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">ranks, %d a node</text>\n",
                  (LEFT + RIGHT) / 2, BOTTOM + 38, scale->per_node);
}

/* The case with most rows names all lines. */
static const scale_case_t *fullest(const scale_t *scale)
{
    const scale_case_t *full = &scale->item[0];

    for (int k = 1; k < scale->n_cases; k++) {
        full = scale->item[k].n_rows > full->n_rows ? &scale->item[k] : full;
    }
    return full;
}

int scale_draw(driver_job_t *job, const driver_options_t *options, const scale_t *scale)
{
    const scale_case_t *full = fullest(scale);
    const frame_t       f    = find_frame(scale);
    spmm_output_t       out;
    int                 code = spmmi_output_open(&out, options->plot, SPMM_OUTPUT_FOLLOW);

    code = driver_check_write(job, options->plot, code);
    if (code != DRIVER_GOOD) {
        return code;
    }
    (void)fprintf(out.stream,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "font-family=\"sans-serif\" font-size=\"13\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
                  "<text x=\"%d\" y=\"22\">predicted time of a product</text>\n",
                  WIDTH, HEIGHT, LEFT);
    draw_axes(out.stream, scale, &f);
    for (int r = 0; r < full->n_rows; r++) {
        draw_line(out.stream, scale, &f, &full->row[r], r);
    }
    (void)fputs("</svg>\n", out.stream);
    return driver_check_write(job, options->plot, spmmi_output_close(&out, true));
}
