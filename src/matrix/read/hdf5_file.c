/* SPDX-License-Identifier: Apache-2.0 */
/** @file hdf5_file.c
 *  HDF5 in the layout of binsparse: the root has an attribute `binsparse` of JSON (binsparse.h),
 *  and for CSR the datasets pointers_to_1, indices_1 and values, of the lengths and types that the
 *  JSON says.  Every rank opens the file by itself and reads its rows: the serial library does,
 *  and converts the numbers.
 */
#include "matrix/read/csr_file.h"

#ifdef SPMM_HAVE_HDF5

#include <hdf5.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "matrix/read/binsparse.h"

bool spmmi_hdf5_file_matches(const unsigned char head[SPMM_FILE_HEAD])
{
    return memcmp(head, "\x89HDF\r\n\x1a\n", 8) == 0;
}

enum { MOST_TEXT = 1 << 20 /* bytes of an attribute */ };

/** An open file; handles below 0 are none. */
typedef struct {
    hid_t            file, row, col, value, fill;
    spmm_binsparse_t says;
    double           one[2]; /* value that stands for all, where says.iso */
} source_t;

/** What HDF5 does with its messages. */
typedef struct {
    H5E_auto2_t print;
    void       *data;
} messages_t;

/* Builds of HDF5 serve one thread at a time, and contexts of several threads may read. */
static pthread_mutex_t hdf5_lock = PTHREAD_MUTEX_INITIALIZER;

/* What goes wrong is said by the library, not by HDF5. */
static void enter(messages_t *m)
{
    (void)pthread_mutex_lock(&hdf5_lock);
    (void)H5Eget_auto2(H5E_DEFAULT, &m->print, &m->data);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

static void leave(const messages_t *m)
{
    (void)H5Eset_auto2(H5E_DEFAULT, m->print, m->data);
    (void)pthread_mutex_unlock(&hdf5_lock);
}

static spmm_status_t fail(spmm_file_t *file, const char *what, const char *problem)
{
    return spmmi_fail(&file->env->err, SPMM_ERR_IO, SPMM_PATH_SHOWN ": %.80s %s", file->path, what,
                      problem);
}

/* Numbers first .. first + count of a dataset, converted to those in memory. */
static spmm_status_t read_numbers(spmm_file_t *file, hid_t set, hid_t type, int64_t first,
                                  int64_t count, void *to)
{
    const hsize_t start = (hsize_t)first, n = (hsize_t)count;
    herr_t        got = 0;
    hid_t         there, here;
    messages_t    m;

    if (count == 0) {
        return SPMM_OK;
    }
    enter(&m);
    there = H5Dget_space(set);
    here  = H5Screate_simple(1, &n, NULL);
    got   = H5Sselect_hyperslab(there, H5S_SELECT_SET, &start, NULL, &n, NULL);
    got   = got < 0 ? got : H5Dread(set, type, here, there, H5P_DEFAULT, to);
    (void)H5Sclose(here);
    (void)H5Sclose(there);
    leave(&m);
    return got < 0 ? fail(file, "a dataset",
                          "cannot be read: the file has been cut, or packed by "
                          "a filter that this HDF5 has not")
                   : SPMM_OK;
}

static spmm_status_t read_index(const spmm_binary_t *self, spmm_file_t *file, bool rows,
                                int64_t first, int64_t count, int64_t *to)
{
    const source_t *s = self->source;

    return read_numbers(file, rows ? s->row : s->col, H5T_NATIVE_INT64, first, count, to);
}

/* Values of type bint8 are true, 1, unless they are 0. */
static spmm_status_t read_values(spmm_file_t *file, const source_t *s, int64_t first, int64_t count,
                                 double *to)
{
    SPMM_TRY(read_numbers(file, s->value, H5T_NATIVE_DOUBLE, first, count, to));
    for (int64_t k = 0; k < count && s->says.value.kind == 'b'; k++) {
        to[k] = to[k] != 0.0 ? 1.0 : 0.0;
    }
    return SPMM_OK;
}

static spmm_status_t read_parts(const spmm_binary_t *self, spmm_file_t *file, int64_t first,
                                int64_t count, double *to)
{
    const source_t *s = self->source;

    if (!s->says.iso) {
        return read_values(file, s, first, count, to);
    }
    for (int64_t k = 0; k < count; k++) {
        to[k] = s->one[(first + k) % self->parts];
    }
    return SPMM_OK;
}

/* Is the dataset read without opening another file? */
static bool is_inside(hid_t set)
{
    const hid_t how    = H5Dget_create_plist(set);
    const bool  inside = H5Pget_layout(how) != H5D_VIRTUAL && H5Pget_external_count(how) == 0;

    (void)H5Pclose(how);
    return inside;
}

/* Does a dataset hold numbers as the JSON says, in any order of bytes? */
static bool is_of_type(hid_t type, spmm_binsparse_type_t want)
{
    const H5T_class_t has = H5Tget_class(type);

    if (H5Tget_size(type) != (size_t)want.bytes) {
        return false;
    }
    if (want.kind == 'f' || has != H5T_INTEGER) {
        return want.kind == 'f' && has == H5T_FLOAT;
    }
    return want.kind == 'b' || (H5Tget_sign(type) == H5T_SGN_NONE) == (want.kind == 'u');
}

/* A dataset of one dimension with numbers of this type, and its length. */
static spmm_status_t open_set(spmm_file_t *file, const source_t *s, const char *name,
                              spmm_binsparse_type_t want, hid_t *set, int64_t *length)
{
    hsize_t    n    = 0;
    int        dims = -1;
    H5L_info_t link;
    bool       elsewhere, fits;
    hid_t      space, type;

    elsewhere = H5Lget_info(s->file, name, &link, H5P_DEFAULT) >= 0 && link.type != H5L_TYPE_HARD;
    *set      = elsewhere ? H5I_INVALID_HID : H5Dopen2(s->file, name, H5P_DEFAULT);
    if (elsewhere || (*set >= 0 && !is_inside(*set))) {
        return fail(file, name, "is a link, or its numbers lie in another file: store them in it");
    }
    space = H5Dget_space(*set);
    type  = H5Dget_type(*set);
    fits  = is_of_type(type, want);
    dims  = H5Sget_simple_extent_ndims(space);
    if (dims == 1) {
        (void)H5Sget_simple_extent_dims(space, &n, NULL);
    }
    (void)H5Tclose(type);
    (void)H5Sclose(space);
    *length = (int64_t)n;
    if (*set < 0) {
        return fail(file, name, "is missing, a dataset of binsparse's CSR");
    }
    if (dims != 1 || n > INT64_MAX) {
        return fail(file, name, "does not have one dimension");
    }
    return fits ? SPMM_OK
                : fail(file, name,
                       "does not hold numbers of the type that the attribute "
                       "binsparse says");
}

/* The text of an attribute of the root, NULL where it has none or several. */
static char *read_text(hid_t file, const char *name)
{
    hid_t  attribute, type, wide, space;
    size_t size;
    char  *text = NULL, *given = NULL;

    attribute = H5Aopen(file, name, H5P_DEFAULT);
    type      = H5Aget_type(attribute);
    space     = H5Aget_space(attribute);
    size      = H5Sget_simple_extent_npoints(space) == 1 && H5Tget_class(type) == H5T_STRING
                    ? H5Tget_size(type)
                    : 0;
    wide      = H5Tcopy(H5T_C_S1);
    (void)H5Tset_cset(wide, H5Tget_cset(type));
    if (size > 0 && H5Tis_variable_str(type) > 0) {
        (void)H5Tset_size(wide, H5T_VARIABLE);
        if (H5Aread(attribute, wide, &given) >= 0 && given != NULL) {
            size = strnlen(given, MOST_TEXT);
            if (SPMM_NEW_ZERO(text, (int64_t)size + 1) != NULL) {
                memcpy(text, given, size);
            }
            (void)H5free_memory(given);
        }
    } else if (size > 0 && size <= MOST_TEXT && SPMM_NEW_ZERO(text, (int64_t)size + 1) != NULL) {
        (void)H5Tset_size(wide, size + 1);
        if (H5Aread(attribute, wide, text) < 0) {
            spmmi_free(text);
            text = NULL;
        }
    }
    (void)H5Tclose(wide);
    (void)H5Tclose(type);
    (void)H5Sclose(space);
    (void)H5Aclose(attribute);
    return text;
}

static spmm_status_t open_sets(spmm_file_t *file, source_t *s, spmm_binary_t *b)
{
    const spmm_binsparse_t *says = &s->says;
    int64_t                 rows = 0, values = 0, fill = says->parts;

    SPMM_TRY(open_set(file, s, "pointers_to_1", says->row, &s->row, &rows));
    SPMM_TRY(open_set(file, s, "indices_1", says->col, &s->col, &b->nnz));
    SPMM_TRY(open_set(file, s, "values", says->value, &s->value, &values));
    if (says->fill) {
        SPMM_TRY(open_set(file, s, "fill_value", says->value, &s->fill, &fill));
    }
    b->rows  = says->rows;
    b->cols  = says->cols;
    b->parts = says->parts;
    if (rows != b->rows + 1) {
        return fail(file, "pointers_to_1", "does not have one number more than the shape has rows");
    }
    if (b->nnz != says->nnz) {
        return fail(file, "indices_1", "does not have number_of_stored_values numbers");
    }
    if (values != (says->iso ? 1 : b->nnz) * b->parts) {
        return fail(file, "values", "does not have as many numbers as its type and indices_1 ask");
    }
    if (b->rows == 0 && b->nnz > 0) {
        return fail(file, "indices_1", "has entries of a matrix without rows");
    }
    return fill == says->parts ? SPMM_OK : fail(file, "fill_value", "does not hold one value");
}

/* What the JSON says, and the file opened. */
static spmm_status_t describe(spmm_file_t *file, source_t *s)
{
    const char   *problem = NULL;
    char         *text    = read_text(s->file, "binsparse");
    spmm_status_t status;

    if (text == NULL) {
        return fail(file, "its root",
                    "has no attribute binsparse, one text of JSON, by which HDF5 "
                    "files with a sparse matrix are known");
    }
    status = spmmi_binsparse_parse(text, &s->says, &problem);
    spmmi_free(text);
    return status == SPMM_OK
               ? SPMM_OK
               : spmmi_fail(&file->env->err, status, SPMM_PATH_SHOWN ": the attribute binsparse %s",
                            file->path, problem);
}

static spmm_status_t open_matrix(spmm_file_t *file, source_t *s, spmm_binary_t *b)
{
    unsigned major = 0, minor = 0, release = 0;

    (void)H5get_libversion(&major, &minor, &release);
    if (major != H5_VERS_MAJOR || minor != H5_VERS_MINOR || release != H5_VERS_RELEASE) {
        return spmmi_fail(&file->env->err, SPMM_ERR_UNSUPPORTED,
                          SPMM_PATH_SHOWN ": this program loads HDF5 %u.%u.%u, and spmm_dist was "
                                          "built with " H5_VERS_INFO,
                          file->path, major, minor, release);
    }
    s->file = H5Fopen(file->path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (s->file < 0) {
        return fail(file, "HDF5", "cannot open it: it has been cut, or is being written");
    }
    SPMM_TRY(describe(file, s));
    return open_sets(file, s, b);
}

/* The value that stands for all.  An array fill_value says what entries are that are not stored:
 * here they are 0. */
static spmm_status_t read_single(spmm_file_t *file, source_t *s)
{
    double fill[2] = {0};

    if (s->says.iso) {
        SPMM_TRY(read_values(file, s, 0, s->says.parts, s->one));
    }
    if (s->says.fill) {
        SPMM_TRY(read_numbers(file, s->fill, H5T_NATIVE_DOUBLE, 0, s->says.parts, fill));
    }
    return fill[0] == 0.0 && fill[1] == 0.0
               ? SPMM_OK
               : fail(file, "fill_value", "is not 0, which entries are here that are not stored");
}

static void close_matrix(source_t *s)
{
    messages_t m;

    enter(&m);
    (void)H5Dclose(s->fill);
    (void)H5Dclose(s->value);
    (void)H5Dclose(s->col);
    (void)H5Dclose(s->row);
    (void)H5Fclose(s->file);
    leave(&m);
}

spmm_status_t spmmi_hdf5_file_read(spmm_file_t *file, const unsigned char head[SPMM_FILE_HEAD],
                                   spmm_type_t type, uint64_t seed, spmm_matrix_t **A)
{
    source_t      s = {.file = -1, .row = -1, .col = -1, .value = -1, .fill = -1};
    spmm_binary_t b = {.read_index = read_index, .read_parts = read_parts, .source = &s};
    messages_t    m;
    spmm_status_t status;

    (void)head;
    enter(&m);
    status = open_matrix(file, &s, &b);
    leave(&m);
    if (status == SPMM_OK) {
        status = read_single(file, &s);
    }
    status = spmmi_file_agree(file->env, status);
    if (status == SPMM_OK) {
        status = spmmi_binary_read(file, &b, type, seed, A);
    }
    close_matrix(&s);
    return status;
}
#endif /* SPMM_HAVE_HDF5 */
