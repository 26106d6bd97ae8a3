/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
#include "test_main.h"

#include "matrix/matrix.h"

enum { SEED = 42 };

static void check_bad(const char *spec, spmm_status_t expected, const char *words)
{
    spmm_matrix_t *A = NULL;

    spmm_assert_refused(spmmi_matrix_from_spec(&spmm_test_env, spec, SPMM_R_64F, SEED, &A), A,
                        expected, words);
}

/* A spec and words of the sentence it must get. */
static const char *const bad[][2] = {
    {NULL, "is NULL"},
    {"", "no generator \"\"; there are rmat, uniform, banded, stencil5, stencil7, stencil9, "
         "stencil27, molecules, pruned, xdys"},
    {"foo:scale=3", "no generator \"foo\""},
    {"RMAT:scale=3,degree=2", "no generator \"RMAT\""},
    {"rma:scale=3,degree=2", "no generator \"rma\""},
    {"rmat", "rmat needs scale="},
    {"rmat:", "\"\" is not of the form key=value"},
    {"rmat:scale", "\"scale\" is not of the form"},
    {"rmat:scale=3", "rmat needs degree="},
    {"rmat:scale=3,degree=2,", "\"\" is not of the form"},
    {"rmat:scale=3,,degree=2", "\"\" is not of the form"},
    {"rmat:scale=3,degree=2,x=1", "rmat has no key \"x\"; it has scale, degree, a, b, c, shuf"},
    {"rmat:scale=3,degree=2,=1", "no key \"\""},
    {"rmat:scale=3,degree=2,scale=3", "\"scale=3\": scale is given twice"},
    {"rmat:scale=3,degree=2,shuffle=1,shuffle=1", "shuffle is given twice"},
    {"rmat:scale=-1,degree=2", "\"scale=-1\": scale is a whole number from 1 to 40"},
    {"rmat:scale=0,degree=2", "\"scale=0\""},
    {"rmat:scale=41,degree=2", "\"scale=41\""},
    {"rmat:scale=,degree=2", "\"scale=\""},
    {"rmat:scale=1e3,degree=2", "\"scale=1e3\""},
    {"rmat:scale=3 ,degree=2", "\"scale=3 \""},
    {"rmat:scale=3=3,degree=2", "\"scale=3=3\""},
    {"rmat:scale=99999999999999999999,degree=2", "\"scale=99999999999999999999\""},
    {"rmat:scale=3,degree=2,a=nan", "\"a=nan\": a is a decimal fraction from 0 to 1"},
    {"rmat:scale=3,degree=2,a=-0.5", "\"a=-0.5\""},
    {"rmat:scale=3,degree=2,a=1.5", "\"a=1.5\""},
    {"rmat:scale=3,degree=2,a=0.5.5", "\"a=0.5.5\""},
    {"rmat:scale=3,degree=2,a=.", "\"a=.\""},
    {"rmat:scale=3,degree=2,a=1e-1", "\"a=1e-1\""},
    {"rmat:scale=3,degree=2,a=0.9,b=0.9", "add up to 1.99"},
    {"rmat:scale=3,degree=2,shuffle=2", "\"shuffle=2\""},
    {"rmat:scale=40,degree=1048576", "at most 2^40 in all"},
    {"uniform:rows=1e30,degree=2", "\"rows=1e30\""},
    {"uniform:rows=10,degree=0", "\"degree=0\""},
    {"uniform:rows=10,degree=11", "degree=11: a row of 10 columns"},
    {"uniform:rows=10,cols=4,degree=5", "degree=5: a row of 4 columns"},
    {"uniform:rows=9223372036854775807,degree=9", "at most 2^40 in all"},
    {"uniform:rows=9223372036854775808,degree=9", "\"rows=9223372036854775808\""},
    {"banded:rows=10", "either lower= and upper=, or band="},
    {"banded:rows=10,lower=1", "either lower= and upper=, or band="},
    {"banded:rows=10,band=1,upper=1", "either lower= and upper=, or band="},
    {"banded:rows=0,band=1", "\"rows=0\""},
    {"banded:rows=9223372036854775807,band=9223372036854775807", "at most 2^40 in all"},
    {"stencil5:nx=10", "stencil5 needs ny="},
    {"stencil7:nx=10,ny=10", "stencil7 needs nz="},
    {"stencil9:nx=10,ny=10,nz=10", "stencil9 has no key \"nz\"; it has nx, ny, dof, shuffle"},
    {"stencil27:nx=10,ny=10,nz=0", "\"nz=0\""},
    {"stencil27:nx=10,ny=10,nz=10,dof=1025", "\"dof=1025\""},
    {"stencil27:nx=3037000500,ny=3037000500,nz=2", "2^63 unknowns or more"},
    {"stencil5:nx=1000000,ny=1000000,dof=9", "at most 2^40 in all"},
    {"stencil6:nx=2,ny=2", "no generator \"stencil6\""},
    {"pruned:rows=9,cols=9", "pruned needs sparsity="},
    {"pruned:rows=9,sparsity=0.5", "pruned needs cols="},
    {"pruned:rows=9,cols=9,sparsity=1.5", "\"sparsity=1.5\""},
    {"pruned:rows=9,cols=9,sparsity=0.5,vector=0", "\"vector=0\""},
    {"pruned:rows=9,cols=9223372036854775807,sparsity=0.5,vector=8", "at most 2^40 in all"},
    {"xdys:size=64,dense=0.5", "xdys needs sp24="},
    {"xdys:dense=0.5,sp24=0.5", "xdys needs size="},
    {"xdys:size=64,dense=0.7,sp24=0.4", "dense and sp24 add up to 1.1"},
    {"xdys:size=64,dense=10,sp24=0", "\"dense=10\""},
    {"xdys:size=9223372036854775807,dense=0,sp24=1", "\"size=9223372036854775807\""},
    {"xdys:size=4611686018427387904,dense=0,sp24=1", "at most 2^40 in all"},
    {"molecules:count=9", "molecules needs atoms="},
    {"molecules:count=9223372036854775807,atoms=3", "2^63 atoms or more"},
};

static void test_malformed_specs(void **state)
{
    for (size_t s = 0; s < sizeof bad / sizeof *bad; s++) {
        check_bad(bad[s][0], SPMM_ERR_ARGUMENT, bad[s][1]);
    }
    check_bad("banded:rows=1000000000000,band=0", SPMM_ERR_RANGE, "use more ranks");
    check_bad("uniform:rows=1,cols=1000000000000,degree=1", SPMM_ERR_RANGE, "use more ranks");
}

SPMM_TESTS(test_malformed_specs);
