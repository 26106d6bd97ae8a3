/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/read/binsparse.h"

#ifdef SPMM_HAVE_HDF5

#include <cjson/cJSON.h>
#include <string.h>

#include "base/error.h"

static spmm_status_t refuse(const char **problem, const char *what)
{
    *problem = what;
    return SPMM_ERR_IO;
}

static spmm_status_t lacks(const char **problem, const char *what)
{
    *problem = what;
    return SPMM_ERR_UNSUPPORTED;
}

/* What an object has by this name; NULL where it has none.  A name that stands twice has no one
 * meaning: *twice. */
static const cJSON *item_of(const cJSON *object, const char *name, bool *twice)
{
    const cJSON *found = NULL, *item;

    cJSON_ArrayForEach(item, object)
    {
        if (item->string != NULL && strcmp(item->string, name) == 0) {
            *twice = *twice || found != NULL;
            found  = found == NULL ? item : found;
        }
    }
    return found;
}

/* The names that the description knows, of its three objects. */
typedef struct {
    const cJSON *about;
    const cJSON *version, *format, *shape, *nnz, *fill, *structure, *swizzle;
    const cJSON *row, *col, *value;
} items_t;

static spmm_status_t find_items(const cJSON *json, items_t *items, const char **problem)
{
    bool         twice = false;
    const cJSON *types;

    items->about     = item_of(json, "binsparse", &twice);
    items->version   = item_of(items->about, "version", &twice);
    items->format    = item_of(items->about, "format", &twice);
    items->shape     = item_of(items->about, "shape", &twice);
    items->nnz       = item_of(items->about, "number_of_stored_values", &twice);
    items->fill      = item_of(items->about, "fill", &twice);
    items->structure = item_of(items->about, "structure", &twice);
    items->swizzle   = item_of(items->about, "swizzle", &twice);
    types            = item_of(items->about, "data_types", &twice);
    items->row       = item_of(types, "pointers_to_1", &twice);
    items->col       = item_of(types, "indices_1", &twice);
    items->value     = item_of(types, "values", &twice);
    if (!cJSON_IsObject(json) || !cJSON_IsObject(items->about)) {
        return refuse(problem, "is JSON without an object binsparse");
    }
    if (!cJSON_IsObject(types)) {
        return refuse(problem, "has no object data_types");
    }
    return twice ? refuse(problem, "has a name twice") : SPMM_OK;
}

/* A count; -1 for what is none.  JSON's numbers are doubles. */
static int64_t count_of(const cJSON *number)
{
    const double most = 9007199254740992.0; /* 2^53 */
    double       x;

    if (!cJSON_IsNumber(number)) {
        return -1;
    }
    x = number->valuedouble;
    return x >= 0.0 && x <= most && x == (double)(int64_t)x ? (int64_t)x : -1;
}

/* "MAJOR.MINOR" of digits: what is later than 0 may mean something else by the same names. */
static spmm_status_t check_version(const cJSON *version, const char **problem)
{
    const char *text  = cJSON_GetStringValue(version);
    size_t      major = text == NULL ? 0 : strspn(text, "0123456789");

    if (major == 0 || text[major] != '.' || strspn(text + major + 1, "0123456789") == 0 ||
        text[major + 1 + strspn(text + major + 1, "0123456789")] != '\0') {
        return refuse(problem, "has no version of two numbers, such as \"0.1\"");
    }
    return strspn(text, "0") == major
               ? SPMM_OK
               : lacks(problem, "is of a version from 1.0 on, and 0.1 is known");
}

static spmm_status_t check_format(const items_t *items, const char **problem)
{
    const char *format    = cJSON_GetStringValue(items->format);
    const char *structure = cJSON_GetStringValue(items->structure);

    SPMM_TRY(check_version(items->version, problem));
    if (cJSON_IsObject(items->format) || items->swizzle != NULL) {
        return lacks(problem, "describes a format of its own, and CSR alone is read");
    }
    if (format == NULL) {
        return refuse(problem, "has no format, a string");
    }
    if (strcmp(format, "CSR") != 0) {
        return lacks(problem, "names another format than CSR, which alone is read");
    }
    if (items->structure != NULL && structure == NULL) {
        return refuse(problem, "has a structure that is no string");
    }
    if (structure != NULL && strcmp(structure, "general") != 0) {
        return lacks(problem, "says that one half of a symmetric matrix is stored: store both");
    }
    return items->fill == NULL || cJSON_IsBool(items->fill)
               ? SPMM_OK
               : refuse(problem, "has a fill that is neither true nor false");
}

/* A type by its name, of @p length bytes. */
static bool parse_type(const char *name, size_t length, spmm_binsparse_type_t *type)
{
    static const struct {
        const char           *name;
        spmm_binsparse_type_t type;
    } types[] = {{"uint8", {'u', 1}},   {"uint16", {'u', 2}}, {"uint32", {'u', 4}},
                 {"uint64", {'u', 8}},  {"int8", {'i', 1}},   {"int16", {'i', 2}},
                 {"int32", {'i', 4}},   {"int64", {'i', 8}},  {"float32", {'f', 4}},
                 {"float64", {'f', 8}}, {"bint8", {'b', 1}}};

    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        if (strlen(types[k].name) == length && memcmp(types[k].name, name, length) == 0) {
            *type = types[k].type;
            return true;
        }
    }
    return false;
}

static bool parse_index(const cJSON *item, spmm_binsparse_type_t *type)
{
    const char *name = cJSON_GetStringValue(item);

    return name != NULL && parse_type(name, strlen(name), type) &&
           (type->kind == 'u' || type->kind == 'i');
}

/* Take "NAME[" from the front and "]" from the end. */
static bool unwrap(const char **text, size_t *length, const char *name)
{
    const size_t n = strlen(name);

    if (*length < n + 2 || memcmp(*text, name, n) != 0 || (*text)[n] != '[' ||
        (*text)[*length - 1] != ']') {
        return false;
    }
    *text += n + 1;
    *length -= n + 2;
    return true;
}

/* TYPE, complex[float32 or float64], or iso[] around one of them. */
static bool parse_value(const cJSON *item, spmm_binsparse_t *b)
{
    const char *text   = cJSON_GetStringValue(item);
    size_t      length = text == NULL ? 0 : strlen(text);

    if (text == NULL) {
        return false;
    }
    b->iso   = unwrap(&text, &length, "iso");
    b->parts = unwrap(&text, &length, "complex") ? 2 : 1;
    return parse_type(text, length, &b->value) && (b->parts == 1 || b->value.kind == 'f');
}

static spmm_status_t describe(const cJSON *json, spmm_binsparse_t *b, const char **problem)
{
    items_t items = {0};

    SPMM_TRY(find_items(json, &items, problem));
    SPMM_TRY(check_format(&items, problem));
    b->rows = count_of(cJSON_GetArrayItem(items.shape, 0));
    b->cols = count_of(cJSON_GetArrayItem(items.shape, 1));
    b->nnz  = count_of(items.nnz);
    b->fill = cJSON_IsTrue(items.fill);
    if (!cJSON_IsArray(items.shape) || cJSON_GetArraySize(items.shape) != 2 || b->rows < 0 ||
        b->cols < 0) {
        return refuse(problem, "has no shape of two sizes");
    }
    if (b->nnz < 0) {
        return refuse(problem, "has no number_of_stored_values, a count");
    }
    if (!parse_index(items.row, &b->row) || !parse_index(items.col, &b->col)) {
        return refuse(problem,
                      "has no integers among data_types for both pointers_to_1 and indices_1");
    }
    return parse_value(items.value, b)
               ? SPMM_OK
               : refuse(problem, "has no type among data_types for values, or one that is not "
                                 "binsparse's");
}

spmm_status_t spmmi_binsparse_parse(const char *text, spmm_binsparse_t *b, const char **problem)
{
    cJSON        *json = cJSON_ParseWithOpts(text, NULL, 1);
    spmm_status_t status;

    memset(b, 0, sizeof *b);
    status = json == NULL ? refuse(problem, "is not JSON") : describe(json, b, problem);
    cJSON_Delete(json);
    return status;
}

#endif /* SPMM_HAVE_HDF5 */
