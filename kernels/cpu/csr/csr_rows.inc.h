/* SPDX-License-Identifier: Apache-2.0 */
/* Row-major CSR times dense by vectors of one length, for one type and one kind of processor:
 * csr_isa.inc.h includes it with what that defines and
 *
 *   ROWS_LANES  reals of a vector; 1 for single columns
 *   ROWS_MOST   vectors of a block of columns, at most: 1, 2, 4 or 8
 *
 * A block has as many vectors as it needs, the last of which ends where the block does and may
 * cover columns of the one before it again: it comes to the same bits for them, so nothing is
 * masked.  A complex entry times a row of B is kept as two sums, of its real and of its imaginary
 * part times the reals of that row.
 */
#define ROWS_NAME(x) ROWS_PASTE(x, ROWS_TYPE, ROWS_ISA, ROWS_LANES)
#define VECTOR       ROWS_NAME(vector)
#define WIDE         ROWS_NAME(wide)
#define AT(v)        ((v) % n_vectors + 1 < n_vectors ? (v) % n_vectors * ROWS_LANES : last)
#define SUMS         (ROWS_MOST * ROWS_PARTS)

#if ROWS_LANES == 1
typedef ROWS_T VECTOR;
typedef double WIDE;
#define CAST(x, type) ((type)(x))
#else
typedef ROWS_T VECTOR
    __attribute__((vector_size(ROWS_LANES * sizeof(ROWS_T)), aligned(sizeof(ROWS_T)), may_alias));
typedef double WIDE __attribute__((vector_size(ROWS_LANES * sizeof(double))));
#define CAST(x, type) __builtin_convertvector(x, type)
#endif

/* Entry k of A times the vectors of B that begin at B0. */
ROWS_INLINE void ROWS_NAME(entry)(const spmm_csr_mm_args_t *args, int64_t k, const ROWS_T *B0,
                                  int64_t last, const int n_vectors, VECTOR *acc)
{
    const ROWS_T *a = (const ROWS_T *)args->values + k * ROWS_PARTS;
    const ROWS_T *B = B0 + args->col_idx[k] * (args->x.ldb * ROWS_PARTS);

    for (int v = 0; v < n_vectors * ROWS_PARTS; v++) {
        acc[v] += a[v / n_vectors] * *(const VECTOR *)(B + AT(v));
    }
}

/* Entries k .. end.  Narrow blocks sum several side by side, since each addition waits for the one
 * before it; short rows do not, since the rows behind them fill that wait, and one more loop would
 * end in one more branch that nothing foretells. */
ROWS_INLINE void ROWS_NAME(run)(const spmm_csr_mm_args_t *args, int64_t k, int64_t end,
                                const ROWS_T *B, int64_t last, const int n_vectors, VECTOR *sum)
{
    const int n_sums = n_vectors * ROWS_PARTS;
    const int side   = n_sums > 4 ? 1 : n_sums > 2 ? 2 : 4;
    VECTOR    acc[4][SUMS];

    for (int e = 0; e < side; e++) {
        for (int v = 0; v < n_sums; v++) {
            acc[e][v] = (VECTOR){0};
        }
    }
    if (side > 1 && end - k >= ROWS_SHORT) {
        for (; k + side <= end; k += side) {
            for (int e = 0; e < side; e++) {
                ROWS_NAME(entry)(args, k + e, B, last, n_vectors, acc[e]);
            }
        }
        for (int v = 0; v < n_sums; v++) {
            acc[0][v] += acc[1][v];
            if (side > 2) {
                acc[0][v] += acc[2][v] + acc[3][v];
            }
        }
    }
    for (; k < end; k++) {
        ROWS_NAME(entry)(args, k, B, last, n_vectors, acc[0]);
    }
    for (int v = 0; v < n_sums; v++) {
        sum[v] = acc[0][v];
    }
}

/* The same for more than args->run entries: runs are added up in FP64. */
ROWS_INLINE void ROWS_NAME(runs)(const spmm_csr_mm_args_t *args, int64_t k, int64_t end,
                                 const ROWS_T *B, int64_t last, const int n_vectors, VECTOR *sum)
{
    const int64_t most        = args->run;
    WIDE          total[SUMS] = {0};

    for (; k < end; k += most) {
        ROWS_NAME(run)(args, k, end - k > most ? k + most : end, B, last, n_vectors, sum);
        for (int v = 0; v < n_vectors * ROWS_PARTS; v++) {
            total[v] += CAST(sum[v], WIDE);
        }
    }
    for (int v = 0; v < n_vectors * ROWS_PARTS; v++) {
        sum[v] = CAST(total[v], VECTOR);
    }
}

#if ROWS_PARTS == 2
ROWS_INLINE VECTOR ROWS_NAME(times_i)(VECTOR x)
{
    VECTOR y = x;

    for (int l = 0; l < ROWS_LANES; l += 2) {
        y[l]     = -x[l + 1];
        y[l + 1] = x[l];
    }
    return y;
}

#endif

/* x, of which the compiler does not see how it came about.  Added to a product it stays what it
 * is, and the product becomes part of an FMA, in every copy of the code: of a sum of two products
 * either could, and the other would be rounded. */
ROWS_INLINE VECTOR ROWS_NAME(rounded)(VECTOR x)
{
    __asm__("" : ROWS_REGISTER(x));
    return x;
}

#if ROWS_PARTS == 2
/* y + i im x.  A real scale makes no NaN of Inf. */
ROWS_INLINE VECTOR ROWS_NAME(add_i)(double im, VECTOR x, VECTOR y)
{
    if (im != 0.0) {
        y = (ROWS_T)im * ROWS_NAME(times_i)(x) + ROWS_NAME(rounded)(y);
    }
    return y;
}
#endif

/* alpha x, plus beta C where @p adds. */
ROWS_INLINE VECTOR ROWS_NAME(result)(const spmm_csr_mm_args_t *args, VECTOR x, const ROWS_T *C,
                                     bool adds)
{
    VECTOR c, y = (ROWS_T)args->x.alpha.re * x;

#if ROWS_PARTS == 2
    y = ROWS_NAME(add_i)(args->x.alpha.im, x, y);
#endif
    if (adds) {
        c = *(const VECTOR *)C;
        y = (ROWS_T)args->x.beta.re * c + ROWS_NAME(rounded)(y);
#if ROWS_PARTS == 2
        y = ROWS_NAME(add_i)(args->x.beta.im, c, y);
#endif
    }
    return y;
}

/** runs() for one number of vectors, not inlined: it would take registers from short rows. */
typedef void ROWS_NAME(runs_t)(const spmm_csr_mm_args_t *args, int64_t k, int64_t end,
                               const ROWS_T *B, int64_t last, VECTOR *sum);

/* Store the sums of a block.  C is read before any of it is written, since vectors may overlap. */
ROWS_INLINE void ROWS_NAME(store)(const spmm_csr_mm_args_t *args, ROWS_T *C, bool is_piece,
                                  bool adds, int64_t last, const int n_vectors, VECTOR *sum)
{
    for (int v = 0; v < n_vectors; v++) {
#if ROWS_PARTS == 2
        sum[v] += ROWS_NAME(times_i)(sum[n_vectors + v]);
#endif
        if (!is_piece) {
            sum[v] = ROWS_NAME(result)(args, sum[v], C + AT(v), adds);
        }
    }
    for (int v = 0; v < n_vectors; v++) {
        *(VECTOR *)(C + AT(v)) = sum[v];
    }
}

/* Entries k .. end times one block of columns.  Args are the caller's own copy of *shared: nothing
 * that is stored to C changes them. */
ROWS_INLINE void ROWS_NAME(block)(const spmm_csr_mm_args_t *shared, const spmm_csr_mm_args_t *args,
                                  int64_t k, int64_t end, const ROWS_T *B, ROWS_T *C, bool is_piece,
                                  bool adds, int64_t last, const int n_vectors,
                                  ROWS_NAME(runs_t) * runs)
{
    VECTOR sum[SUMS], long_sum[SUMS];

    if (end - k <= args->run) {
        ROWS_NAME(run)(args, k, end, B, last, n_vectors, sum);
    } else {
        runs(shared, k, end, B, last, long_sum);
        for (int v = 0; v < n_vectors * ROWS_PARTS; v++) {
            sum[v] = long_sum[v];
        }
    }
    ROWS_NAME(store)(args, C, is_piece, adds, last, n_vectors, sum);
}

/* All rows in one block, C neither permuted nor read: no register is short then, which is what few
 * columns take most of their time for. */
ROWS_INLINE void ROWS_NAME(plain)(const spmm_csr_mm_args_t *shared, int64_t first_row,
                                  int64_t last_row, int64_t width, const int n_vectors,
                                  ROWS_NAME(runs_t) * runs)
{
    const spmm_csr_mm_args_t args = *shared;
    const int64_t            back = width - ROWS_LANES, last = n_vectors > 1 ? back : 0;
    const ROWS_T            *B   = (const ROWS_T *)args.x.B + (back - last);
    const int64_t            ldc = args.x.ldc * ROWS_PARTS;
    ROWS_T                  *C   = (ROWS_T *)args.x.C + first_row * ldc + (back - last);
    int64_t                  k   = args.row_ptr[first_row];

    for (const int64_t *ends = args.row_ptr + first_row; ends < args.row_ptr + last_row; C += ldc) {
        const int64_t end = *++ends;

        ROWS_NAME(block)(shared, &args, k, end, B, C, false, false, last, n_vectors, runs);
        k = end;
    }
}

/* Rows first_row .. last_row times the columns whose reals are j0 .. stop, in blocks of n_vectors.
 */
ROWS_INLINE void ROWS_NAME(blocks)(const spmm_csr_mm_args_t *shared, int64_t first_row,
                                   int64_t last_row, int64_t j0, int64_t stop, const int n_vectors,
                                   ROWS_NAME(runs_t) * runs)
{
    const spmm_csr_mm_args_t args = *shared;
    const bool               adds = args.x.beta.re != 0.0 || args.x.beta.im != 0.0;
    int64_t                  k    = args.row_ptr[first_row];

    for (int64_t i = first_row; i < last_row; i++) {
        const int64_t end      = args.row_ptr[i + 1];
        const int64_t to       = args.row_map == NULL ? i : args.row_map[i];
        const bool    is_piece = args.row_map != NULL && to < 0;
        ROWS_T       *C        = is_piece ? (ROWS_T *)args.pieces + ~to * args.x.n * ROWS_PARTS
                                          : (ROWS_T *)args.x.C + to * args.x.ldc * ROWS_PARTS;

        for (int64_t j = j0; j < stop; j += n_vectors * ROWS_LANES) {
            const int64_t wide = n_vectors * ROWS_LANES;
            const int64_t last = (stop - j < wide ? stop - j : wide) - ROWS_LANES;

            ROWS_NAME(block)
            (shared, &args, k, end, (const ROWS_T *)args.x.B + j, C + j, is_piece, adds, last,
             n_vectors, runs);
        }
        k = end;
    }
}

#define ROWS_BLOCKS(n_vectors)                                                                     \
    static __attribute__((noinline)) ROWS_TARGET void ROWS_NAME(runs##n_vectors)(                  \
        const spmm_csr_mm_args_t *args, int64_t k, int64_t end, const ROWS_T *B, int64_t last,     \
        VECTOR *sum)                                                                               \
    {                                                                                              \
        ROWS_NAME(runs)(args, k, end, B, last, n_vectors, sum);                                    \
    }                                                                                              \
    static __attribute__((noinline)) ROWS_TARGET void ROWS_NAME(plain##n_vectors)(                 \
        const spmm_csr_mm_args_t *args, int64_t first_row, int64_t last_row, int64_t width)        \
    {                                                                                              \
        ROWS_NAME(plain)(args, first_row, last_row, width, n_vectors, ROWS_NAME(runs##n_vectors)); \
    }                                                                                              \
    static ROWS_TARGET void ROWS_NAME(blocks##n_vectors)(const spmm_csr_mm_args_t *args,           \
                                                         int64_t first_row, int64_t last_row,      \
                                                         int64_t j0, int64_t stop)                 \
    {                                                                                              \
        if (stop - j0 <= n_vectors * ROWS_LANES && args->row_map == NULL && j0 == 0 &&             \
            args->x.beta.re == 0.0 && args->x.beta.im == 0.0) {                                    \
            ROWS_NAME(plain##n_vectors)(args, first_row, last_row, stop);                          \
            return;                                                                                \
        }                                                                                          \
        ROWS_NAME(blocks)                                                                          \
        (args, first_row, last_row, j0, stop, n_vectors, ROWS_NAME(runs##n_vectors));              \
    }
ROWS_BLOCKS(1)
#if ROWS_MOST >= 2
ROWS_BLOCKS(2)
#endif
#if ROWS_MOST >= 4
ROWS_BLOCKS(3)
ROWS_BLOCKS(4)
#endif
#if ROWS_MOST >= 8
ROWS_BLOCKS(5)
ROWS_BLOCKS(6)
ROWS_BLOCKS(7)
ROWS_BLOCKS(8)
#endif

/* All columns, in as few blocks as can be, of at most two widths.  Short rows are finished one
 * after the other, so that rows of B are read, and rows of C written, as a whole; where rows are
 * long, one block after the other, so that what they share of B stays near. */
static void ROWS_NAME(rows)(const spmm_csr_mm_args_t *args, int64_t first_row, int64_t last_row)
{
    static void (*const blocks[ROWS_MOST + 1])(const spmm_csr_mm_args_t *, int64_t, int64_t,
                                               int64_t, int64_t) = {
        NULL,
        ROWS_NAME(blocks1),
#if ROWS_MOST >= 2
        ROWS_NAME(blocks2),
#endif
#if ROWS_MOST >= 4
        ROWS_NAME(blocks3),
        ROWS_NAME(blocks4),
#endif
#if ROWS_MOST >= 8
        ROWS_NAME(blocks5),
        ROWS_NAME(blocks6),
        ROWS_NAME(blocks7),
        ROWS_NAME(blocks8),
#endif
    };
    const int64_t width    = args->x.n * ROWS_PARTS;
    const int64_t vectors  = (width + ROWS_LANES - 1) / ROWS_LANES;
    const int64_t n_blocks = (vectors + ROWS_MOST - 1) / ROWS_MOST;
    const int64_t narrow = vectors / n_blocks, n_wide = vectors % n_blocks;
    const int64_t middle = n_wide * (narrow + 1) * ROWS_LANES;

    if (args->row_ptr[last_row] - args->row_ptr[first_row] > ROWS_LONG * (last_row - first_row)) {
        for (int64_t j = 0; j < width;) {
            const int64_t n_vectors = narrow + (j < middle);
            const int64_t stop      = j + n_vectors * ROWS_LANES;

            blocks[n_vectors](args, first_row, last_row, j, stop < width ? stop : width);
            j = stop;
        }
        return;
    }
    if (n_wide == 0) {
        blocks[narrow](args, first_row, last_row, 0, width);
        return;
    }
    for (int64_t i = first_row; i < last_row; i++) {
        blocks[narrow + 1](args, i, i + 1, 0, middle);
        blocks[narrow](args, i, i + 1, middle, width);
    }
}
#undef ROWS_NAME
#undef VECTOR
#undef WIDE
#undef AT
#undef SUMS
#undef CAST
#undef ROWS_BLOCKS
#undef ROWS_LANES
#undef ROWS_MOST
