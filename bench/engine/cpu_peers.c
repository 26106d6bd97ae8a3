/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu_peers.h"

#include <dlfcn.h>
#include <mpi.h>

#include "base/alloc.h"

/** What mkl_spblas.h says, for 32-bit indices. */
enum { MKL_NON_TRANSPOSE = 10, MKL_GENERAL = 20, MKL_ROW = 101, MKL_CALLS = 1000 };
typedef struct {
    int type, mode, diag;
} mkl_descr_t;

typedef struct {
    void                  *A;
    const spmm_operands_t *x;
} mkl_product_t;

static struct {
    int (*create_d)(void **, int, int, int, const int *, const int *, const int *, const double *);
    int (*create_s)(void **, int, int, int, const int *, const int *, const int *, const float *);
    int (*mm_d)(int, double, void *, mkl_descr_t, int, const double *, int, int, double, double *,
                int);
    int (*mm_s)(int, float, void *, mkl_descr_t, int, const float *, int, int, float, float *, int);
    int (*hint)(void *, int, mkl_descr_t, int, int, int);
    int (*optimize)(void *);
    int (*destroy)(void *);
    void (*set_threads)(int);
} mkl;

static struct {
    int (*initialize)(void);
    int (*aij)(MPI_Comm, int, int, int *, int *, double *, void **);
    int (*dense)(MPI_Comm, int, int, double *, void **);
    int (*mat_mat)(void *, void *, int, double, void **);
    int (*destroy)(void **);
} petsc;

/* Functions of @p library by name into *to; the name of the first that is not there. */
typedef struct {
    const char *name;
    void       *to;
} symbol_t;

static const char *load(const char *library, const symbol_t *symbols)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);

    if (handle == NULL) {
        return dlerror();
    }
    for (; symbols->name != NULL; symbols++) {
        *(void **)symbols->to = dlsym(handle, symbols->name);
        if (*(void **)symbols->to == NULL) {
            return symbols->name;
        }
    }
    return NULL;
}

static const char *mkl_load(const char *library)
{
    const symbol_t symbols[] = {{"mkl_sparse_d_create_csr", &mkl.create_d},
                                {"mkl_sparse_s_create_csr", &mkl.create_s},
                                {"mkl_sparse_d_mm", &mkl.mm_d},
                                {"mkl_sparse_s_mm", &mkl.mm_s},
                                {"mkl_sparse_set_mm_hint", &mkl.hint},
                                {"mkl_sparse_optimize", &mkl.optimize},
                                {"mkl_sparse_destroy", &mkl.destroy},
                                {"MKL_Set_Num_Threads", &mkl.set_threads},
                                {NULL, NULL}};

    return load(library, symbols);
}

static void mkl_multiply(void *self)
{
    const mkl_product_t   *p     = self;
    const spmm_operands_t *x     = p->x;
    const mkl_descr_t      descr = {.type = MKL_GENERAL};
    const int              n = (int)x->n, ldb = (int)x->ldb, ldc = (int)x->ldc;

    if (x->ab_type == SPMM_R_64F) {
        mkl.mm_d(MKL_NON_TRANSPOSE, 1.0, p->A, descr, MKL_ROW, x->B, n, ldb, 0.0, x->C, ldc);
    } else {
        mkl.mm_s(MKL_NON_TRANSPOSE, 1.0F, p->A, descr, MKL_ROW, x->B, n, ldb, 0.0F, x->C, ldc);
    }
}

static void mkl_close(void *self)
{
    mkl_product_t *p = self;

    mkl.destroy(p->A);
    spmmi_free(p);
}

static bool mkl_open(const spmm_csr_t *A, const int32_t *row_ptr, const spmm_operands_t *x,
                     int threads, cpu_product_t *product)
{
    const mkl_descr_t descr = {.type = MKL_GENERAL};
    mkl_product_t    *p;
    int               status;

    if (SPMM_NEW_ZERO(p, 1) == NULL) {
        return false;
    }
    *product = (cpu_product_t){mkl_multiply, mkl_close, p};
    p->x     = x;
    mkl.set_threads(threads);
    status = x->ab_type == SPMM_R_64F ? mkl.create_d(&p->A, 0, A->n_rows, A->n_cols, row_ptr,
                                                     row_ptr + 1, A->col_idx, A->values)
                                      : mkl.create_s(&p->A, 0, A->n_rows, A->n_cols, row_ptr,
                                                     row_ptr + 1, A->col_idx, A->values);
    return status == 0 &&
           mkl.hint(p->A, MKL_NON_TRANSPOSE, descr, MKL_ROW, (int)x->n, MKL_CALLS) == 0 &&
           mkl.optimize(p->A) == 0;
}

const cpu_peer_t bench_peer_mkl = {
    .name = "mkl", .threads = true, .load = mkl_load, .open = mkl_open};

static const char *petsc_load(const char *library)
{
    const symbol_t symbols[] = {{"PetscInitializeNoArguments", &petsc.initialize},
                                {"MatCreateSeqAIJWithArrays", &petsc.aij},
                                {"MatCreateSeqDense", &petsc.dense},
                                {"MatMatMult", &petsc.mat_mat},
                                {"MatDestroy", &petsc.destroy},
                                {NULL, NULL}};
    const char    *why       = load(library, symbols);

    return why != NULL ? why : petsc.initialize() != 0 ? "PetscInitialize failed" : NULL;
}

enum { PETSC_A, PETSC_B, PETSC_C, PETSC_MATRICES };
enum { PETSC_INITIAL = 0, PETSC_REUSE = 1 };

static void petsc_multiply(void *self)
{
    void **m = self;

    petsc.mat_mat(m[PETSC_A], m[PETSC_B], PETSC_REUSE, -2.0, &m[PETSC_C]);
}

static void petsc_close(void *self)
{
    void **m = self;

    for (int k = 0; k < PETSC_MATRICES; k++) {
        petsc.destroy(&m[k]);
    }
    spmmi_free(m);
}

/* C is PETSc's own: MatMatMult() makes it. */
static bool petsc_open(const spmm_csr_t *A, const int32_t *row_ptr, const spmm_operands_t *x,
                       int threads, cpu_product_t *product)
{
    void **m;

    (void)threads;
    if (x->ab_type != SPMM_R_64F || SPMM_NEW_ZERO(m, PETSC_MATRICES) == NULL) {
        return false;
    }
    *product = (cpu_product_t){petsc_multiply, petsc_close, m};
    return petsc.aij(MPI_COMM_SELF, A->n_rows, A->n_cols, (int *)row_ptr, A->col_idx, A->values,
                     &m[PETSC_A]) == 0 &&
           petsc.dense(MPI_COMM_SELF, A->n_cols, (int)x->n, (double *)x->B, &m[PETSC_B]) == 0 &&
           petsc.mat_mat(m[PETSC_A], m[PETSC_B], PETSC_INITIAL, -2.0, &m[PETSC_C]) == 0;
}

const cpu_peer_t bench_peer_petsc = {.name = "petsc", .load = petsc_load, .open = petsc_open};
