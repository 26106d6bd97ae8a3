/* SPDX-License-Identifier: Apache-2.0 */
/** @file type.c  The matrix type: an AIJ becomes a MATSPMMDIST and the other way round. */
#include <petsc/private/petscimpl.h> /* PetscObjectStateIncrease() */

#include "spmm_dist_petsc.h"
#include "state.h"

#define OWN_NAME     "spmm_dist state" /* the state's among the objects that a Mat carries */
#define RETRIEVE     "MatRetrieveValues_C"
#define ANY_PRODUCT  "MatProductSetFromOptions_anytype_C"
#define TYPE_SEQ     MATSEQAIJ MATSPMMDIST
#define TYPE_MPI     MATMPIAIJ MATSPMMDIST
#define COUNT(array) ((PetscInt)(sizeof(array) / sizeof(array)[0]))

static PetscErrorCode view(Mat mat, PetscViewer viewer);
static PetscErrorCode from_any(Mat mat, MatType type, MatReuse reuse, Mat *out);
static PetscErrorCode destroy_seq(Mat mat);
static PetscErrorCode destroy_mpi(Mat mat);

/* What is replaced of an AIJ, beside MATOP_DESTROY. */
static const struct {
    MatOperation op;
    void (*own)(void);
} replaced[] = {
    {MATOP_MULT, (void (*)(void))spmmi_mult},
    {MATOP_MULT_ADD, (void (*)(void))spmmi_mult_add},
    {MATOP_MULT_TRANSPOSE, (void (*)(void))spmmi_mult_transpose},
    {MATOP_MULT_TRANSPOSE_ADD, (void (*)(void))spmmi_mult_transpose_add},
    {MATOP_MULT_HERMITIAN_TRANSPOSE, (void (*)(void))spmmi_mult_hermitian},
    {MATOP_MULT_HERMITIAN_TRANS_ADD, (void (*)(void))spmmi_mult_hermitian_add},
    {MATOP_VIEW, (void (*)(void))view},
    {MATOP_CONVERT_FROM, (void (*)(void))from_any},
    {MATOP_PRODUCTSETFROMOPTIONS, (void (*)(void))spmmi_product_from_options},
};

/* The operations of the two AIJ, of one rank and of several: no Mat need carry them. */
typedef struct {
    void (*operations[COUNT(replaced)])(void); /* in the order of `replaced` */
    PetscErrorCode (*view)(Mat, PetscViewer);
    PetscErrorCode (*destroy)(Mat);
    PetscErrorCode (*product)(Mat);
    PetscErrorCode (*retrieve)(Mat); /* MatRetrieveValues() */
} aij_t;

static PetscErrorCode get_aij(PetscBool is_mpi, const aij_t **aij)
{
    static aij_t both[2];
    aij_t       *a = &both[is_mpi ? 1 : 0];
    Mat          plain;

    PetscFunctionBegin;
    *aij = a;
    if (a->destroy != NULL) {
        PetscFunctionReturn(0);
    }
    PetscCall(MatCreate(PETSC_COMM_SELF, &plain));
    PetscCall(MatSetType(plain, is_mpi ? MATMPIAIJ : MATSEQAIJ));
    for (PetscInt i = 0; i < COUNT(replaced); i++) {
        PetscCall(MatGetOperation(plain, replaced[i].op, &a->operations[i]));
    }
    PetscCall(MatGetOperation(plain, MATOP_VIEW, (void (**)(void)) & a->view));
    PetscCall(MatGetOperation(plain, MATOP_PRODUCTSETFROMOPTIONS, (void (**)(void)) & a->product));
    PetscCall(PetscObjectQueryFunction((PetscObject)plain, RETRIEVE, &a->retrieve));
    PetscCall(MatGetOperation(plain, MATOP_DESTROY, (void (**)(void)) & a->destroy));
    PetscCall(MatDestroy(&plain));
    PetscFunctionReturn(0);
}

static PetscErrorCode is_mpiaij(Mat mat, PetscBool *is_mpi)
{
    return PetscObjectBaseTypeCompare((PetscObject)mat, MATMPIAIJ, is_mpi);
}

PetscErrorCode spmmi_is_own(Mat mat, PetscBool *is_own)
{
    return PetscObjectTypeCompareAny((PetscObject)mat, is_own, TYPE_SEQ, TYPE_MPI, "");
}

/* NULL: the Mat carries none. */
static PetscErrorCode find_state(Mat mat, spmmi_state_t **state)
{
    PetscContainer container;

    PetscFunctionBegin;
    *state = NULL;
    PetscCall(PetscObjectQuery((PetscObject)mat, OWN_NAME, (PetscObject *)&container));
    if (container != NULL) {
        PetscCall(PetscContainerGetPointer(container, (void **)state));
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode free_state(void *data)
{
    spmmi_state_t *state = data;

    PetscFunctionBegin;
    PetscCall(spmmi_reset(state));
    PetscCall(spmmi_leave_context(state->ctx));
    PetscCall(PetscFree(state));
    PetscFunctionReturn(0);
}

/* PETSc counts no change there, neither of the whole nor of its parts. */
static PetscErrorCode retrieve_values(Mat mat)
{
    const aij_t *aij;
    PetscBool    is_mpi;

    PetscFunctionBegin;
    PetscCall(is_mpiaij(mat, &is_mpi));
    PetscCall(get_aij(is_mpi, &aij));
    PetscCall(aij->retrieve(mat));
    PetscCall(PetscObjectStateIncrease((PetscObject)mat));
    PetscFunctionReturn(0);
}

static PetscErrorCode attach_state(Mat mat)
{
    spmmi_state_t *state;
    PetscContainer container;

    PetscFunctionBegin;
    PetscCall(PetscNew(&state));
    state->owner = mat;
    PetscCall(spmmi_take_context(PetscObjectComm((PetscObject)mat), &state->ctx));
    PetscCall(PetscContainerCreate(PetscObjectComm((PetscObject)mat), &container));
    PetscCall(PetscContainerSetPointer(container, state));
    PetscCall(PetscContainerSetUserDestroy(container, free_state));
    PetscCall(PetscObjectCompose((PetscObject)mat, OWN_NAME, (PetscObject)container));
    PetscCall(PetscContainerDestroy(&container));
    PetscFunctionReturn(0);
}

static PetscErrorCode to_aij(Mat mat, MatType type, MatReuse reuse, Mat *out);
static PetscErrorCode from_aij(Mat mat, MatType type, MatReuse reuse, Mat *out);

/* What PETSc looks up by names that are made of names of types: our function, or with NULL that of
 * the AIJ under the name that it has for this type. */
static PetscErrorCode compose(Mat mat, const char *pattern, const char *type, const char *other,
                              void (*function)(void), const char *base)
{
    char name[128];

    PetscFunctionBegin;
    if (base != NULL) {
        PetscCall(PetscSNPrintf(name, sizeof name, pattern, base, other));
        PetscCall(PetscObjectQueryFunction((PetscObject)mat, name, &function));
    }
    PetscCall(PetscSNPrintf(name, sizeof name, pattern, type, other));
    PetscCall(PetscObjectComposeFunction((PetscObject)mat, name, function));
    PetscFunctionReturn(0);
}

/* Compose these functions, or remove them.  PETSc knows the product of a transpose and two AIJ by
 * the names of all three, and asks the transpose before it asks for products with any type. */
static PetscErrorCode compose_all(Mat mat, PetscBool is_mpi, PetscBool remove)
{
    static const char *const targets[] = {MATSEQBAIJ,   MATMPIBAIJ,   MATSEQSBAIJ, MATMPISBAIJ,
                                          MATSEQDENSE,  MATMPIDENSE,  MATSEQSELL,  MATMPISELL,
                                          MATELEMENTAL, MATSCALAPACK, MATHYPRE,    MATIS};
    const char *const        base      = is_mpi ? MATMPIAIJ : MATSEQAIJ;
    const char *const        type      = is_mpi ? TYPE_MPI : TYPE_SEQ;
    const char *const        triple    = "MatProductSetFromOptions_transpose_%s_%s_C";
    void (*const product)(void)        = remove ? NULL : (void (*)(void))spmmi_product_from_options;
    void (*const back)(void)           = remove ? NULL : (void (*)(void))to_aij;
    void (*const there)(void)          = remove ? NULL : (void (*)(void))from_aij;

    PetscFunctionBegin;
    PetscCall(PetscObjectComposeFunction((PetscObject)mat, ANY_PRODUCT, product));
    PetscCall(compose(mat, triple, type, type, product, NULL));
    PetscCall(compose(mat, triple, type, base, product, NULL));
    PetscCall(compose(mat, triple, base, type, product, NULL));
    for (PetscInt i = 0; i < COUNT(targets); i++) {
        PetscCall(compose(mat, "MatConvert_%s_%s_C", type, targets[i], NULL, remove ? NULL : base));
    }
    PetscCall(compose(mat, "MatConvert_%s_%s_C", type, base, back, NULL));
    PetscCall(compose(mat, "MatConvert_%s_%s_C", base, type, there, NULL));
    PetscCall(compose(mat, "MatConvert_%s_%s_C", base, MATSPMMDIST, there, NULL));
    PetscFunctionReturn(0);
}

PetscErrorCode spmmi_pass_for_aij(Mat mat, PetscBool pass)
{
    PetscErrorCode (*own)(Mat) = spmmi_product_from_options;
    const aij_t *aij;
    PetscBool    is_mpi;

    PetscFunctionBegin;
    PetscCall(is_mpiaij(mat, &is_mpi));
    PetscCall(get_aij(is_mpi, &aij));
    PetscCall(MatSetOperation(mat, MATOP_PRODUCTSETFROMOPTIONS,
                              (void (*)(void))(pass ? aij->product : own)));
    PetscCall(PetscObjectComposeFunction((PetscObject)mat, ANY_PRODUCT, pass ? NULL : own));
    if (pass) {
        PetscCall(PetscObjectChangeTypeName((PetscObject)mat, is_mpi ? MATMPIAIJ : MATSEQAIJ));
    } else {
        PetscCall(PetscObjectChangeTypeName((PetscObject)mat, is_mpi ? TYPE_MPI : TYPE_SEQ));
    }
    PetscFunctionReturn(0);
}

/* The AIJ becomes a MATSPMMDIST. */
static PetscErrorCode become_spmmdist(Mat mat)
{
    const aij_t *aij;
    PetscBool    is_mpi;

    PetscFunctionBegin;
    PetscCall(is_mpiaij(mat, &is_mpi));
    PetscCall(get_aij(is_mpi, &aij));
    for (PetscInt i = 0; i < COUNT(replaced); i++) {
        PetscCall(MatSetOperation(mat, replaced[i].op, replaced[i].own));
    }
    PetscCall(
        MatSetOperation(mat, MATOP_DESTROY, (void (*)(void))(is_mpi ? destroy_mpi : destroy_seq)));
    if (aij->retrieve != NULL) {
        PetscCall(PetscObjectComposeFunction((PetscObject)mat, RETRIEVE, retrieve_values));
    }
    PetscCall(attach_state(mat));
    PetscCall(compose_all(mat, is_mpi, PETSC_FALSE));
    PetscCall(PetscObjectChangeTypeName((PetscObject)mat, is_mpi ? TYPE_MPI : TYPE_SEQ));
    PetscFunctionReturn(0);
}

PetscErrorCode spmmi_state_of(Mat mat, spmmi_state_t **state)
{
    PetscFunctionBegin;
    PetscCall(find_state(mat, state));
    if (*state == NULL) {
        PetscCall(become_spmmdist(mat));
        PetscCall(find_state(mat, state));
    } else if ((*state)->owner != mat) { /* the counts of changes are another Mat's */
        PetscCall(spmmi_reset(*state));
        (*state)->owner = mat;
    }
    PetscFunctionReturn(0);
}

/* What a Mat carries of a MATSPMMDIST; where PETSc has put another AIJ into it, there is none. */
static PetscErrorCode drop(Mat mat, PetscBool is_mpi, const aij_t *aij)
{
    PetscFunctionBegin;
    PetscCall(PetscObjectCompose((PetscObject)mat, OWN_NAME, NULL));
    PetscCall(PetscObjectComposeFunction((PetscObject)mat, RETRIEVE, aij->retrieve));
    PetscCall(compose_all(mat, is_mpi, PETSC_TRUE));
    PetscFunctionReturn(0);
}

/* The MATSPMMDIST becomes an AIJ. */
static PetscErrorCode release(Mat mat)
{
    const aij_t *aij;
    PetscBool    is_mpi;

    PetscFunctionBegin;
    PetscCall(is_mpiaij(mat, &is_mpi));
    PetscCall(get_aij(is_mpi, &aij));
    PetscCall(drop(mat, is_mpi, aij));
    for (PetscInt i = 0; i < COUNT(replaced); i++) {
        PetscCall(MatSetOperation(mat, replaced[i].op, aij->operations[i]));
    }
    PetscCall(MatSetOperation(mat, MATOP_DESTROY, (void (*)(void))aij->destroy));
    PetscCall(PetscObjectChangeTypeName((PetscObject)mat, is_mpi ? MATMPIAIJ : MATSEQAIJ));
    PetscFunctionReturn(0);
}

static PetscErrorCode convert(Mat mat, PetscErrorCode (*change)(Mat), MatReuse reuse, Mat *out)
{
    PetscFunctionBegin;
    if (reuse == MAT_REUSE_MATRIX) {
        PetscCall(MatCopy(mat, *out, SAME_NONZERO_PATTERN));
        PetscFunctionReturn(0);
    }
    if (reuse == MAT_INITIAL_MATRIX) {
        PetscCall(MatDuplicate(mat, MAT_COPY_VALUES, out));
    }
    PetscCall(change(*out));
    PetscFunctionReturn(0);
}

static PetscErrorCode from_aij(Mat mat, MatType type, MatReuse reuse, Mat *out)
{
    (void)type;
    return convert(mat, become_spmmdist, reuse, out);
}

/* Any other type becomes an AIJ first, as which PETSc may have a way of its own. */
static PetscErrorCode from_any(Mat mat, MatType type, MatReuse reuse, Mat *out)
{
    const MatReuse first = reuse == MAT_REUSE_MATRIX ? MAT_INITIAL_MATRIX : reuse;
    PetscBool      is_seq, is_mpi;
    Mat            aij = mat;

    PetscFunctionBegin;
    PetscCall(PetscStrcmp(type, TYPE_SEQ, &is_seq));
    PetscCall(PetscStrcmp(type, TYPE_MPI, &is_mpi));
    PetscCall(MatConvert(mat, is_seq ? MATSEQAIJ : is_mpi ? MATMPIAIJ : MATAIJ, first, &aij));
    if (reuse == MAT_REUSE_MATRIX) {
        PetscCall(MatCopy(aij, *out, SAME_NONZERO_PATTERN));
        PetscCall(MatDestroy(&aij));
    } else {
        PetscCall(become_spmmdist(aij));
        *out = aij;
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode to_aij(Mat mat, MatType type, MatReuse reuse, Mat *out)
{
    (void)type;
    return convert(mat, release, reuse, out);
}

/* PETSc also destroys what is in a Mat to put another AIJ into it, and hides its type then. */
static PetscErrorCode destroy(Mat mat, PetscBool is_mpi)
{
    const aij_t *aij;

    PetscFunctionBegin;
    PetscCall(get_aij(is_mpi, &aij));
    PetscCall(drop(mat, is_mpi, aij));
    PetscCall(aij->destroy(mat));
    PetscFunctionReturn(0);
}

static PetscErrorCode destroy_seq(Mat mat)
{
    return destroy(mat, PETSC_FALSE);
}

static PetscErrorCode destroy_mpi(Mat mat)
{
    return destroy(mat, PETSC_TRUE);
}

static PetscErrorCode view(Mat mat, PetscViewer viewer)
{
    const aij_t      *aij;
    PetscBool         is_mpi, is_ascii;
    PetscViewerFormat format;
    spmmi_state_t    *state;

    PetscFunctionBegin;
    PetscCall(is_mpiaij(mat, &is_mpi));
    PetscCall(get_aij(is_mpi, &aij));
    PetscCall(aij->view(mat, viewer));
    PetscCall(find_state(mat, &state));
    PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &is_ascii));
    PetscCall(PetscViewerGetFormat(viewer, &format));
    if (state != NULL && is_ascii &&
        (format == PETSC_VIEWER_ASCII_INFO || format == PETSC_VIEWER_ASCII_INFO_DETAIL)) {
        PetscCall(spmmi_view_plans(state, viewer));
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode create_seq(Mat mat)
{
    PetscFunctionBegin;
    PetscCall(MatSetType(mat, MATSEQAIJ));
    PetscCall(become_spmmdist(mat));
    PetscFunctionReturn(0);
}

static PetscErrorCode create_mpi(Mat mat)
{
    PetscFunctionBegin;
    PetscCall(MatSetType(mat, MATMPIAIJ));
    PetscCall(become_spmmdist(mat));
    PetscFunctionReturn(0);
}

static PetscBool is_registered = PETSC_FALSE;

/* PetscFinalize() forgets the types. */
static PetscErrorCode forget(void)
{
    is_registered = PETSC_FALSE;
    return 0;
}

/* Symbols are those of the PETSc of the program, whatever this file was linked with. */
static PetscErrorCode check_scalars(void)
{
    const char   *mine = PetscDefined(USE_COMPLEX) ? "complex" : "real";
    PetscDataType scalar;
    PetscBool     found;

    PetscFunctionBegin;
    PetscCall(PetscDataTypeFromString("Scalar", &scalar, &found));
    PetscCheck(found && scalar == PETSC_SCALAR, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "libspmm_dist_petsc_%s.so is for PETSc with %s numbers, and this program has the "
               "other: load the other file",
               mine, mine);
    PetscFunctionReturn(0);
}

PetscErrorCode spmm_petsc_register(void)
{
    PetscFunctionBegin;
    PetscCall(check_scalars());
    if (is_registered) {
        PetscFunctionReturn(0);
    }
    is_registered = PETSC_TRUE;
    PetscCall(PetscRegisterFinalize(forget));
    PetscCall(MatRegisterRootName(MATSPMMDIST, TYPE_SEQ, TYPE_MPI));
    PetscCall(MatRegister(TYPE_SEQ, create_seq));
    PetscCall(MatRegister(TYPE_MPI, create_mpi));
    PetscFunctionReturn(0);
}

/* PETSc calls it when option -dll_append, or PetscDLLibraryAppend(), loads the plugin: its name
 * ends in the name of the file. */
#define PASTE(a, b)       a##b
#define REGISTER(library) PASTE(PetscDLLibraryRegister_, library)
PETSC_EXTERN PetscErrorCode REGISTER(SPMM_PETSC_LIBRARY)(void);

PetscErrorCode REGISTER(SPMM_PETSC_LIBRARY)(void)
{
    return spmm_petsc_register();
}
