/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 3 NEEDS SPMM_HDF5 LINK spmm_hdf5 */
/** @file test_hdf5.c
 *  HDF5 in the layout of binsparse: numbers of all types, packed or not, and what is wrong in files
 *  without such a matrix, or with another than their JSON says. */
#include <hdf5.h>
#include <unistd.h>

#include "base/scalar.h"
#include "matrix/matrix.h"
#include "temp_file.h"
#include "test_main.h"

enum { ROWS = 41, COLS = 29, MOST = ROWS * COLS, MOST_TEXTS = 3 };

/** How a file is written. */
typedef struct {
    const char *json; /**< NULL: one that fits */
    const char *from; /**< words of the JSON that fits, and what stands instead; NULL: none */
    const char *to;
    hid_t       index; /**< types in the file; 0: 64 bits */
    hid_t       value;
    int         parts;
    bool        iso, packed, fixed; /**< fixed: the attribute has a length of its own */
    const char *leave_out;          /**< a dataset, or NULL */
    bool        linked;             /**< what is left out is a link to another file */
    bool        apart;              /**< numbers of values lie in another file */
    int         texts;              /**< strings that the attribute has; 0: one */
    int         rows_more;          /**< numbers in pointers_to_1 beside those that belong there */
    int         values_more;
    bool        whole;   /**< values are integers */
    bool        truths;  /**< and are read as 1 where they are not 0 */
    bool        outside; /**< the first entry has column COLS */
    bool        fill;    /**< there is a fill_value */
    double      other;   /**< it; the JSON shall name it */
    int         fills;   /**< numbers of it beside those of one value */
} file_t;

static int64_t ptr[ROWS + 1], col[MOST];
static double  value[2 * MOST];

static double value_of(int64_t i, int64_t j, int part, bool whole)
{
    return (double)(int64_t)(spmmi_hash2(5, i, 2 * j + part) % 100) - (whole ? 50.0 : 50.5);
}

static int64_t fill(const file_t *f)
{
    int64_t nnz = 0;

    for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t j = 0; j < COLS; j++) {
            if (spmmi_hash2(3, i, j) % 4 == 0) {
                for (int p = 0; p < f->parts; p++) {
                    value[f->parts * nnz + p] = value_of(i, j, p, f->whole);
                }
                col[nnz++] = j;
            }
        }
        ptr[i + 1] = nnz;
    }
    if (f->outside) {
        col[0] = COLS;
    }
    return nnz;
}

static void put_set(const file_t *f, hid_t file, const char *name, hid_t type, hid_t memory,
                    int64_t count, const void *data)
{
    const hsize_t n = (hsize_t)count, chunk = n < 50 ? n : 50;
    const hid_t   space = H5Screate_simple(1, &n, NULL), how = H5Pcreate(H5P_DATASET_CREATE);
    const bool    apart = f->apart && strcmp(name, "values") == 0;
    hid_t         set;

    if (f->leave_out == NULL || strcmp(f->leave_out, name) != 0) {
        if (f->packed) {
            assert_true(H5Pset_chunk(how, 1, &chunk) >= 0 && H5Pset_deflate(how, 3) >= 0);
        }
        if (apart) {
            assert_true(H5Pset_external(how, "/nowhere/numbers", 0, H5F_UNLIMITED) >= 0);
        }
        set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT);
        assert_true(set >= 0);
        assert_true(apart || H5Dwrite(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
        (void)H5Dclose(set);
    } else if (f->linked) {
        assert_true(
            H5Lcreate_external("/nowhere/file", name, file, name, H5P_DEFAULT, H5P_DEFAULT) >= 0);
    }
    (void)H5Pclose(how);
    (void)H5Sclose(space);
}

static void put_text(const file_t *f, hid_t file, const char *text)
{
    const char   *texts[MOST_TEXTS] = {text, text, text};
    const hsize_t n                 = (hsize_t)f->texts;
    const hid_t   space = n == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &n, NULL);
    const hid_t   type  = H5Tcopy(H5T_C_S1);
    hid_t         attribute;

    assert_true(f->texts <= MOST_TEXTS && (f->texts == 0 || strlen(text) > MOST_TEXTS));
    (void)H5Tset_size(type, !f->fixed ? H5T_VARIABLE : strlen(text) / (n == 0 ? 1 : n));
    (void)H5Tset_cset(type, f->fixed ? H5T_CSET_ASCII : H5T_CSET_UTF8);
    attribute = H5Acreate2(file, "binsparse", type, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(attribute, type, f->fixed ? (const void *)text : texts) >= 0);
    (void)H5Aclose(attribute);
    (void)H5Tclose(type);
    (void)H5Sclose(space);
}

/* What binsparse calls a type of HDF5. */
static const char *name_of(hid_t type)
{
    static char name[16];
    const char *kind = H5Tget_class(type) == H5T_FLOAT     ? "float"
                       : H5Tget_sign(type) == H5T_SGN_NONE ? "uint"
                                                           : "int";

    (void)snprintf(name, sizeof name, "%s%d", kind, (int)H5Tget_size(type) * 8);
    return name;
}

/* JSON that fits, with what the test puts in place of some of it. */
static void describe(const file_t *f, hid_t index, hid_t numbers, int64_t nnz, char *json,
                     size_t room)
{
    char  text[600], indices[16];
    char *at;

    (void)strcpy(indices, name_of(index));
    (void)snprintf(text, sizeof text,
                   "{\"binsparse\": {\"version\": \"0.1\", \"format\": \"CSR\", \"shape\": [%d, "
                   "%d], \"number_of_stored_values\": %d, \"data_types\": {\"pointers_to_1\": "
                   "\"%s\", \"indices_1\": \"%s\", \"values\": \"%s%s%s%s%s\"}%s}}",
                   ROWS, COLS, (int)nnz, indices, indices, f->iso ? "iso[" : "",
                   f->parts == 2 ? "complex[" : "", name_of(numbers), f->parts == 2 ? "]" : "",
                   f->iso ? "]" : "", f->fill ? ", \"fill\": true" : "");
    if (f->from == NULL) {
        (void)snprintf(json, room, "%s", f->json == NULL ? text : f->json);
        return;
    }
    at = strstr(text, f->from);
    assert_non_null(at);
    (void)snprintf(json, room, "%.*s%s%s", (int)(at - text), text, f->to, at + strlen(f->from));
}

static void write_file(const file_t *f, const char *path)
{
    const double  none[] = {f->other, 0.0, 0.0};
    const int64_t nnz    = fill(f);
    const hid_t   file   = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t   index  = f->index > 0 ? f->index : H5T_STD_U64LE;
    const hid_t   number = f->value > 0 ? f->value : H5T_IEEE_F64LE;
    char          json[800];

    assert_true(file >= 0);
    describe(f, index, number, nnz, json, sizeof json);
    if (f->leave_out == NULL || strcmp(f->leave_out, "json") != 0) {
        put_text(f, file, json);
    }
    put_set(f, file, "pointers_to_1", index, H5T_NATIVE_INT64, ROWS + 1 + f->rows_more, ptr);
    put_set(f, file, "indices_1", index, H5T_NATIVE_INT64, nnz, col);
    put_set(f, file, "values", number, H5T_NATIVE_DOUBLE,
            f->parts * (f->iso ? 1 : nnz) + f->values_more, value);
    if (f->fill) {
        put_set(f, file, "fill_value", number, H5T_NATIVE_DOUBLE, f->parts + f->fills, none);
    }
    assert_true(H5Fclose(file) >= 0);
}

/* The same path on every rank, written by one. */
static spmm_status_t read_back(const file_t *f, spmm_type_t type, spmm_matrix_t **A)
{
    const char *path = spmm_temp_write("", 0);

    if (spmm_test_env.rank == 0) {
        write_file(f, path);
    }
    MPI_Barrier(spmm_test_env.comm);
    return spmmi_matrix_from_file(&spmm_test_env, path, type, 1, A);
}

static void check(const file_t *f, spmm_type_t type)
{
    const int64_t  live = spmmi_alloc_get_stats().live;
    const int      size = spmm_test_env.size;
    spmm_matrix_t *A    = NULL;
    int64_t        row;

    (void)fill(f);
    spmm_assert_ok(read_back(f, type, &A));
    assert_true(A->rows == ROWS && A->cols == COLS && A->nnz == ptr[ROWS]);
    assert_int_equal(A->type, type != SPMM_TYPE_AUTO ? type
                              : f->parts == 2        ? SPMM_C_64F
                                                     : SPMM_R_64F);
    row = A->row_offset[spmm_test_env.rank];
    assert_int_equal(A->row_offset[size], ROWS);
    for (int64_t i = 0; i < A->n_rows; i++) {
        assert_int_equal(A->row_ptr[i + 1] - A->row_ptr[i], ptr[row + i + 1] - ptr[row + i]);
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            const int64_t at = ptr[row + i] + k - A->row_ptr[i];

            assert_int_equal(A->col_idx[k], col[at]);
            for (int p = 0; p < f->parts; p++) {
                const double has  = value[f->iso ? p : f->parts * at + p];
                const double want = !f->truths ? has : has != 0.0 ? 1.0 : 0.0;

                assert_true(
                    spmmi_value_get(spmmi_part_type(A->type), A->values, f->parts * k + p) == want);
            }
        }
    }
    spmmi_matrix_free(A);
    assert_int_equal(spmmi_alloc_get_stats().live, live);
}

static void test_types(void **state)
{
    const hid_t indices[] = {H5T_STD_U64LE, H5T_STD_I32LE, H5T_STD_U16BE, H5T_STD_U8LE};
    const hid_t values[]  = {H5T_IEEE_F64LE, H5T_IEEE_F32BE, H5T_IEEE_F64BE, H5T_IEEE_F32LE};

    for (int k = 0; k < 3; k++) { /* 8 bits do not count all entries */
        file_t f = {.parts = 1};

        f.index  = indices[k];
        f.value  = values[k];
        f.packed = k % 2 == 1;
        f.fixed  = k == 2;
        check(&f, k == 1 ? SPMM_R_32F : SPMM_TYPE_AUTO);
        f.iso = true;
        check(&f, SPMM_TYPE_AUTO);
        f.parts = 2;
        check(&f, SPMM_C_32F);
        f.iso = false;
        check(&f, SPMM_TYPE_AUTO);
    }
}

static void test_integers(void **state)
{
    const hid_t whole[] = {H5T_STD_I8LE, H5T_STD_I16BE, H5T_STD_I32LE, H5T_STD_I64LE};

    for (int k = 0; k < 4; k++) {
        check(&(file_t){.parts = 1, .whole = true, .value = whole[k], .iso = k == 2},
              k % 2 == 0 ? SPMM_R_32F : SPMM_TYPE_AUTO);
    }
    check(&(file_t){.parts  = 1,
                    .whole  = true,
                    .truths = true,
                    .value  = H5T_STD_I8LE,
                    .from   = "\"int8\"",
                    .to     = "\"bint8\""},
          SPMM_TYPE_AUTO);
}

/* A fill_value of 0 changes nothing. */
static void test_fill(void **state)
{
    for (int parts = 1; parts <= 2; parts++) {
        check(&(file_t){.parts = parts, .fill = true}, SPMM_TYPE_AUTO);
        check(&(file_t){.parts = parts, .from = "\"format\"", .to = "\"fill\": false, \"format\""},
              SPMM_TYPE_AUTO);
    }
}

static void refuse(const file_t *f, spmm_type_t type, spmm_status_t status, const char *words)
{
    const int64_t  live = spmmi_alloc_get_stats().live;
    spmm_matrix_t *A    = NULL;

    spmm_assert_error(read_back(f, type, &A), status, words);
    assert_null(A);
    assert_int_equal(spmmi_alloc_get_stats().live, live);
}

#define WITH(...) (&(file_t){__VA_ARGS__})

static void test_refused(void **state)
{
    const spmm_type_t any = SPMM_TYPE_AUTO;

    refuse(WITH(.parts = 1, .leave_out = "json"), any, SPMM_ERR_IO, "no attribute binsparse");
    for (int fixed = 0; fixed < 2; fixed++) {
        refuse(WITH(.parts = 1, .texts = MOST_TEXTS, .fixed = fixed != 0), any, SPMM_ERR_IO,
               "no attribute binsparse");
    }
    refuse(WITH(.parts = 1, .leave_out = "values", .linked = true), any, SPMM_ERR_IO, "is a link");
    refuse(WITH(.parts = 1, .apart = true), any, SPMM_ERR_IO, "lie in another file");
    refuse(WITH(.parts = 1, .leave_out = "pointers_to_1"), any, SPMM_ERR_IO,
           "pointers_to_1 is missing");
    refuse(WITH(.parts = 1, .leave_out = "values"), any, SPMM_ERR_IO, "values is missing");
    refuse(WITH(.parts = 1, .fill = true, .leave_out = "fill_value"), any, SPMM_ERR_IO,
           "fill_value is missing");
    refuse(WITH(.parts = 1, .fill = true, .fills = 1), any, SPMM_ERR_IO, "hold one value");
    refuse(WITH(.parts = 2, .fill = true, .other = 0.5), any, SPMM_ERR_IO, "fill_value is not 0");
    refuse(WITH(.parts = 1, .rows_more = -1), any, SPMM_ERR_IO, "one number more than");
    refuse(WITH(.parts = 1, .values_more = -1), any, SPMM_ERR_IO, "values does not have as many");
    refuse(WITH(.parts = 1, .outside = true), any, SPMM_ERR_IO, "is outside the matrix");
    refuse(WITH(.parts = 2), SPMM_R_64F, SPMM_ERR_ARGUMENT, "holds complex values");
}

/* The JSON is held to its word. */
static void test_json(void **state)
{
    static const struct {
        const char   *from, *to;
        spmm_status_t status;
        const char   *words;
    } cases[] = {
        {"}}", "}", SPMM_ERR_IO, "is not JSON"},
        {"}}}", "}}} {}", SPMM_ERR_IO, "is not JSON"},
        {"\"binsparse\"", "\"sparse\"", SPMM_ERR_IO, "without an object binsparse"},
        {"\"data_types\": {", "\"data_types\": 1, \"else\": {", SPMM_ERR_IO,
         "no object data_types"},
        {"\"format\"", "\"shape\": [1, 1], \"format\"", SPMM_ERR_IO, "has a name twice"},
        {"\"version\"", "\"Version\"", SPMM_ERR_IO, "no version of two numbers"},
        {"\"0.1\"", "0.1", SPMM_ERR_IO, "no version of two numbers"},
        {"\"0.1\"", "\"0.1b\"", SPMM_ERR_IO, "no version of two numbers"},
        {"\"0.1\"", "\"1.0\"", SPMM_ERR_UNSUPPORTED, "version from 1.0 on"},
        {"\"CSR\"", "[\"CSR\"]", SPMM_ERR_IO, "no format, a string"},
        {"\"CSR\"", "{\"level\": {}}", SPMM_ERR_UNSUPPORTED, "a format of its own"},
        {"\"CSR\"", "\"CSR\", \"swizzle\": [1, 0]", SPMM_ERR_UNSUPPORTED, "a format of its own"},
        {"\"CSR\"", "\"COO\"", SPMM_ERR_UNSUPPORTED, "another format than CSR"},
        {"\"CSR\"", "\"CSR\", \"structure\": null", SPMM_ERR_IO, "a structure that is no string"},
        {"\"CSR\"", "\"CSR\", \"structure\": \"symmetric_lower\"", SPMM_ERR_UNSUPPORTED,
         "one half of a symmetric matrix"},
        {"\"CSR\"", "\"CSR\", \"fill\": 0", SPMM_ERR_IO, "neither true nor false"},
        {"[41,", "[41, 1,", SPMM_ERR_IO, "no shape of two sizes"},
        {"[41,", "[41.5,", SPMM_ERR_IO, "no shape of two sizes"},
        {"[41,", "[-41,", SPMM_ERR_IO, "no shape of two sizes"},
        {"[41,", "[1e300,", SPMM_ERR_IO, "no shape of two sizes"},
        {"[41,", "[\"41\",", SPMM_ERR_IO, "no shape of two sizes"},
        {"[41,", "[42,", SPMM_ERR_IO, "one number more than"},
        {"\"number_of_stored_values\": ", "\"number_of_stored_values\": 1", SPMM_ERR_IO,
         "not have number_of_stored_values"},
        {"\"number_of_stored_values\"", "\"number\"", SPMM_ERR_IO, "number_of_stored_values, a"},
        {"\"pointers_to_1\"", "\"pointers_to_0\"", SPMM_ERR_IO, "no integers among data_types"},
        {"\"uint64\"", "\"float64\"", SPMM_ERR_IO, "no integers among data_types"},
        {"\"uint64\"", "\"int64\"", SPMM_ERR_IO, "numbers of the type"},
        {"\"indices_1\": \"uint64\"", "\"indices_1\": \"uint32\"", SPMM_ERR_IO,
         "numbers of the type"},
        {"\"float64\"", "\"float32\"", SPMM_ERR_IO, "numbers of the type"},
        {"\"float64\"", "\"int64\"", SPMM_ERR_IO, "numbers of the type"},
        {"\"float64\"", "\"double\"", SPMM_ERR_IO, "no type among data_types"},
        {"\"float64\"", "\"iso[float64\"", SPMM_ERR_IO, "no type among data_types"},
        {"\"float64\"", "\"complex[int64]\"", SPMM_ERR_IO, "no type among data_types"},
        {"\"float64\"", "\"complex[iso[float64]]\"", SPMM_ERR_IO, "no type among data_types"},
        {"\"float64\"", "\"iso[float64]\"", SPMM_ERR_IO, "values does not have as many"},
        {"\"float64\"", "\"complex[float64]\"", SPMM_ERR_IO, "values does not have as many"},
    };

    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        refuse(WITH(.parts = 1, .from = cases[k].from, .to = cases[k].to), SPMM_TYPE_AUTO,
               cases[k].status, cases[k].words);
    }
    refuse(WITH(.parts = 1, .json = "[1]"), SPMM_TYPE_AUTO, SPMM_ERR_IO,
           "without an object binsparse");
}

/* A file that ends early. */
static void test_cut(void **state)
{
    const file_t   f    = {.parts = 1};
    const char    *path = spmm_temp_write("", 0);
    spmm_matrix_t *A    = NULL;

    if (spmm_test_env.rank == 0) {
        write_file(&f, path);
        assert_int_equal(truncate(path, 3000), 0);
    }
    MPI_Barrier(spmm_test_env.comm);
    spmm_assert_error(spmmi_matrix_from_file(&spmm_test_env, path, SPMM_R_64F, 1, &A), SPMM_ERR_IO,
                      "cannot open it");
}

SPMM_TESTS(test_types, test_integers, test_fill, test_refused, test_json, test_cut);
