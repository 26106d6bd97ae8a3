/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 NEEDS ZLIB_FOUND */
/* Well-formed files against a serial reader that shares no code with the library. */
#include "test_main.h"

#include <dirent.h>
#include <zlib.h>

#include "temp_file.h"
#include "test_matrix.h"

typedef struct {
    long   row, col, order;
    double value;
} entry_t;

typedef struct {
    long     rows, cols, count;
    entry_t *entry; /* sorted, duplicates summed in the order of the file */
} reference_t;

static int by_position(const void *a, const void *b)
{
    const entry_t *x = a, *y = b;

    if (x->row != y->row) {
        return x->row < y->row ? -1 : 1;
    }
    if (x->col != y->col) {
        return x->col < y->col ? -1 : 1;
    }
    return x->order < y->order ? -1 : x->order > y->order;
}

static void sort_and_sum(reference_t *ref)
{
    long kept = 0;

    qsort(ref->entry, (size_t)ref->count, sizeof *ref->entry, by_position);
    for (long k = 0; k < ref->count; k++) {
        const entry_t e = ref->entry[k];

        if (kept > 0 && ref->entry[kept - 1].row == e.row && ref->entry[kept - 1].col == e.col) {
            ref->entry[kept - 1].value += e.value;
        } else {
            ref->entry[kept++] = e;
        }
    }
    ref->count = kept;
}

/* The next line that is neither a comment nor blank; gzgets() reads plain files as well. */
static bool next_line(gzFile file, char *line, int size)
{
    while (gzgets(file, line, size) != NULL) {
        if (line[0] != '%' && strspn(line, " \t\r\n") != strlen(line)) {
            return true;
        }
    }
    return false;
}

static void add(reference_t *ref, long row, long col, double value)
{
    ref->entry[ref->count] = (entry_t){row - 1, col - 1, ref->count, value};
    ref->count++;
}

static reference_t read_reference(const char *path)
{
    gzFile      file = gzopen(path, "rb");
    char        line[1024], format[32], field[32], symmetry[32];
    reference_t ref = {0};
    long        stored;
    double      sign;

    assert_non_null(file);
    assert_non_null(gzgets(file, line, sizeof line));
    assert_int_equal(sscanf(line, "%*s %*s %31s %31s %31s", format, field, symmetry), 3);
    assert_true(next_line(file, line, sizeof line));
    if (strcmp(format, "array") == 0) {
        assert_int_equal(sscanf(line, "%ld %ld", &ref.rows, &ref.cols), 2);
        stored = ref.rows * ref.cols;
    } else {
        assert_int_equal(sscanf(line, "%ld %ld %ld", &ref.rows, &ref.cols, &stored), 3);
    }
    ref.entry = spmm_test_malloc(((size_t)stored * 2 + 1) * sizeof *ref.entry);
    sign      = strcmp(symmetry, "skew-symmetric") == 0 ? -1.0 : 1.0;
    for (long i = 1, j = 1; next_line(file, line, sizeof line);) {
        double value = 1.0;

        if (strcmp(format, "array") == 0) { /* general ones only */
            assert_int_equal(sscanf(line, "%lf", &value), 1);
        } else {
            assert_true(sscanf(line, "%ld %ld %lf", &i, &j, &value) >= 2);
        }
        if (value != 0.0 || strcmp(format, "array") != 0) {
            add(&ref, i, j, value);
        }
        if (strcmp(symmetry, "general") != 0 && i != j) {
            add(&ref, j, i, sign * value);
        }
        if (strcmp(format, "array") == 0 && ++i > ref.rows) {
            i = 1;
            j++;
        }
    }
    (void)gzclose(file);
    sort_and_sum(&ref);
    return ref;
}

static void compare(const spmm_matrix_t *A, const reference_t *ref)
{
    int64_t *row_ptr = spmm_test_calloc((size_t)ref->rows + 1, sizeof *row_ptr);
    int64_t *col     = spmm_test_calloc((size_t)ref->count, sizeof *col);
    double  *values  = spmm_test_calloc((size_t)ref->count, sizeof *values);

    for (long k = 0; k < ref->count; k++) {
        row_ptr[ref->entry[k].row + 1]++;
        col[k]    = ref->entry[k].col;
        values[k] = ref->entry[k].value;
    }
    for (long i = 0; i < ref->rows; i++) {
        row_ptr[i + 1] += row_ptr[i];
    }
    spmm_test_assert_rows(A, &(spmm_test_csr_t){ref->rows, ref->cols, row_ptr, col, values});
    spmm_test_free(row_ptr, col, values);
}

/* By one thread of each rank, and in parts of its text by three. */
static void check_file(const char *path)
{
    const int64_t    live = spmmi_alloc_get_stats().live;
    const spmm_env_t own  = spmm_test_env;
    reference_t      ref  = read_reference(path);

    for (int threads = 1; threads <= 3; threads += 2) {
        spmm_matrix_t *A = NULL;

        spmm_test_env.threads       = threads;
        spmm_test_env.message_limit = threads == 1 ? 0 : ref.count < 100 ? 8 : 1 << 16;
        spmm_assert_ok(spmmi_matrix_from_file(&spmm_test_env, path, SPMM_TYPE_AUTO, 1, &A));
        assert_int_equal(A->type, SPMM_R_64F);
        compare(A, &ref);
        spmmi_matrix_free(A);
    }
    spmm_test_env.threads       = own.threads;
    spmm_test_env.message_limit = own.message_limit;
    free(ref.entry);
    assert_int_equal(spmmi_alloc_get_stats().live, live);
}

static char *unpack(const char *path, size_t *size)
{
    gzFile file = gzopen(path, "rb");
    size_t room = 1 << 20;
    char  *text = spmm_test_malloc(room);
    int    got;

    assert_non_null(file);
    for (*size = 0; (got = gzread(file, text + *size, (unsigned)(room - *size))) > 0;) {
        *size += (size_t)got;
        if (*size == room) {
            room *= 2;
            text = realloc(text, room);
            assert_non_null(text);
        }
    }
    assert_int_equal(got, 0);
    (void)gzclose(file);
    return text;
}

/* The matrices of the repository, packed and plain. */
static void test_real_matrices(void **state)
{
    static const char *const name[] = {"bips98_606", "delaunay_n16", "sat14_6s9"};

    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        char   path[512];
        size_t size;
        char  *text;

        (void)snprintf(path, sizeof path, "%s/%s.mtx.gz", SPMM_TEST_DATA_DIR, name[i]);
        check_file(path);
        text = unpack(path, &size);
        check_file(spmm_temp_write(text, size));
        free(text);
    }
}

/* All matrices of a folder given by the environment. */
static void test_more_matrices(void **state)
{
    const char    *dir = getenv("SPMM_MATRIX_DIR");
    DIR           *folder;
    struct dirent *file;
    int            checked = 0;

    if (dir == NULL || dir[0] == '\0') {
        skip();
    }
    folder = opendir(dir);
    assert_non_null(folder);
    while ((file = readdir(folder)) != NULL) {
        const char *dot = strchr(file->d_name, '.');
        char        path[1024];

        if (dot != NULL && strcmp(dot, ".mtx.gz") == 0) {
            (void)snprintf(path, sizeof path, "%s/%s", dir, file->d_name);
            check_file(path);
            checked++;
        }
    }
    (void)closedir(folder);
    assert_true(checked > 0);
}

static const char *const text[] = {
    "%%MatrixMarket matrix coordinate real general\n3 4 7\n1 1 0.1\n3 4 2\n1 1 0.2\n2 2 -1e-3\n"
    "1 1 0.3\n3 1 5\n2 4 7.25\n",
    "%%MatrixMarket matrix coordinate pattern symmetric\r\n% c\r\n\r\n5 5 4\r\n1 1\r\n 5 1 \r\n"
    "\r\n3 2\r\n4\t4\r\n\r\n",
    "%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 3\n2 1 4\n3 1 -5\n3 2 6",
    "%%MatrixMarket matrix array real general\n3 2\n1\n0\n% c\n3\n\n-4\n5.5\n0\n",
    "%%MatrixMarket matrix coordinate real general\n0 0 0\n",
    "%%MatrixMarket matrix coordinate real general\n4 0 0",
    "%%MatrixMarket matrix coordinate real general\n4 5 0\n\n\n",
    "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1e-320\n"};

/* A comment that grows by one byte at a time moves the ranges of the ranks over every byte. */
static void test_every_cut(void **state)
{
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        for (int length = 0; length < 12; length++) {
            char        padded[600];
            const char *path;

            (void)snprintf(padded, sizeof padded, "%s\n%%%.*s\n", text[i], length, "............");
            path = length % 2 == 0 ? spmm_temp_write(padded, strlen(padded))
                                   : spmm_temp_write(padded, strlen(padded) - 1);
            check_file(path);
        }
        check_file(spmm_temp_write(text[i], strlen(text[i])));
        check_file(spmm_temp_write_gzip(text[i], strlen(text[i]), 0, 0));
        for (size_t block = 1; block < 200; block = 2 * block + 5) {
            check_file(spmm_temp_write_bgzf(text[i], strlen(text[i]), block, 0));
        }
    }
}

/* Blocks of the size that bgzip makes them. */
static void test_blocks(void **state)
{
    enum { LINES = 40000, MOST = 16 * LINES };
    char  *body = spmm_test_malloc(2 * MOST);
    size_t used = (size_t)snprintf(body, MOST,
                                   "%%%%MatrixMarket matrix coordinate real general\n977 991 "
                                   "%d\n",
                                   LINES);

    for (int k = 0; k < LINES; k++) {
        used += (size_t)snprintf(body + used, MOST - used, "%d %d %d\n", 1 + 7 * k % 977,
                                 1 + 11 * k % 991, k);
    }
    check_file(spmm_temp_write_bgzf(body, used, 65280, 0));
    free(body);
}

/* A symmetric array cut by the ranks. */
static void test_symmetric_array(void **state)
{
    enum { N = 9 };
    char           buffer[2000];
    int            used;
    int64_t        row_ptr[N + 1] = {0}, col[N * N];
    float          values[N * N];
    spmm_matrix_t *A = NULL;
    const char    *path;

    used = snprintf(buffer, sizeof buffer, "%%%%MatrixMarket matrix array real symmetric\n9 9\n");
    for (int j = 0; j < N; j++) {
        row_ptr[j + 1] = row_ptr[j] + N;
        for (int i = j; i < N; i++) {
            used += snprintf(buffer + used, sizeof buffer - (size_t)used, "%d\n", 1 + 10 * i + j);
            values[i * N + j] = values[j * N + i] = (float)(1 + 10 * i + j);
            col[i * N + j]                        = j;
            col[j * N + i]                        = i;
        }
    }
    path = spmm_temp_write(buffer, (size_t)used);
    spmm_assert_ok(spmmi_matrix_from_file(&spmm_test_env, path, SPMM_R_32F, 1, &A));
    spmm_test_assert_rows(A, &(spmm_test_csr_t){N, N, row_ptr, col, values});
    spmmi_matrix_free(A);
}

/* Duplicates of a Hermitian file, on any number of ranks; types that cannot hold it. */
static void test_complex(void **state)
{
    static const char    hermitian[] = "%%MatrixMarket matrix coordinate complex hermitian\n3 3 4\n"
                                       "1 1 2 0\n2 1 1 -1\n2 1 0.5 -2\n3 2 0 4\n";
    static const double  values[]    = {2.0, 0.0, 1.5, 3.0, 1.5, -3.0, 0.0, -4.0, 0.0, 4.0};
    static const int64_t col[] = {0, 1, 0, 2, 1}, row_ptr[] = {0, 2, 4, 5};

    for (int packed = 0; packed < 2; packed++) {
        spmm_matrix_t *A    = NULL;
        const char    *path = packed ? spmm_temp_write_gzip(hermitian, sizeof hermitian - 1, 0, 0)
                                     : spmm_temp_write(hermitian, sizeof hermitian - 1);

        spmm_assert_ok(spmmi_matrix_from_file(&spmm_test_env, path, SPMM_TYPE_AUTO, 1, &A));
        assert_int_equal(A->type, SPMM_C_64F);
        spmm_test_assert_rows(A, &(spmm_test_csr_t){3, 3, row_ptr, col, values});
        spmmi_matrix_free(A);
        spmm_assert_error(spmmi_matrix_from_file(&spmm_test_env, path, SPMM_R_32F, 1, &A),
                          SPMM_ERR_ARGUMENT, "holds complex values, which type 32f");
    }
}

/* Two gzip members one after the other are one text. */
static void test_concatenated_gzip(void **state)
{
    static const char banner[] = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 4";
    static const char rest[]   = "2\n2 2 5\n";
    char              whole[4096];
    size_t            size = 0;
    spmm_matrix_t    *A    = NULL;

    for (int part = 0; part < 2; part++) {
        const char *path = part == 0 ? spmm_temp_write_gzip(banner, strlen(banner), 0, 0)
                                     : spmm_temp_write_gzip(rest, strlen(rest), 0, 0);
        FILE       *file = fopen(path, "rb");

        assert_non_null(file);
        size += fread(whole + size, 1, sizeof whole - size, file);
        (void)fclose(file);
    }
    spmm_assert_ok(
        spmmi_matrix_from_file(&spmm_test_env, spmm_temp_write(whole, size), SPMM_R_64F, 1, &A));
    assert_int_equal(A->nnz, 2);
    if (A->row_offset[spmm_test_env.rank] == 0 && A->n_rows > 0) {
        assert_true(((const double *)A->values)[0] == 42.0);
    }
    spmmi_matrix_free(A);
}

SPMM_TESTS(test_real_matrices, test_more_matrices, test_every_cut, test_symmetric_array,
           test_complex, test_concatenated_gzip, test_blocks);
