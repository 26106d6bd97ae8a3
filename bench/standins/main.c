/* SPDX-License-Identifier: Apache-2.0 */
/** @file main.c
 *      gen_standins NAME OUT.csr [SEED]                    one of the named stand-ins
 *      gen_standins KIND OUT.csr SEED KEY=VALUE...         a family, by its own parameters
 */
#include "standins.h"

#include <stdio.h>
#include <string.h>

enum { MOST_ARGUMENTS = 64 };

static int         n_arguments;
static const char *arguments[MOST_ARGUMENTS];

double parameter(const char *key, double by_default)
{
    const size_t length = strlen(key);

    for (int i = n_arguments - 1; i >= 0; i--) {
        if (strncmp(arguments[i], key, length) == 0 && arguments[i][length] == '=') {
            return strtod(arguments[i] + length + 1, NULL);
        }
    }
    return by_default;
}

/* Rows and entries are those of the published matrices, structure and degrees like theirs. */
static const struct {
    const char *name, *arguments;
} named[] = {
    {"syn-reddit",
     "graph n=232965 nnz=114848856 logn=1.25 dmaxr=44 comm=41 csk=1.5 mu=0.35 shuf=1"},
    {"syn-protein",
     "graph n=132534 nnz=79255038 logn=1.0 dmaxr=13 comm=24 csk=1.0 mu=0.12 shuf=2 win=4096"},
    {"syn-com-amazon",
     "graph n=334863 nnz=1851744 gamma=2.7 dmaxr=150 comm=16000 csk=1 mu=0.25 shuf=2 win=2048"},
    {"syn-amazon0601", "rmat n=403394 nnz=3387388 a=0.35 b=0.25 c=0.25"},
    {"syn-soc-BlogCatalog",
     "graph n=88784 nnz=4186390 gamma=1.85 dmaxr=200 comm=30 csk=1 mu=0.6 shuf=1"},
    {"syn-artist", "graph n=50515 nnz=1638396 gamma=2.2 dmaxr=45 comm=120 csk=1 mu=0.4 shuf=1"},
    {"syn-ppi", "graph n=56944 nnz=1612348 gamma=2.3 dmaxr=25 comm=24 csk=0.3 mu=0.01 shuf=0"},
    {"syn-web-BerkStan", "web n=685230 nnz=7600595 dmax=249 host=500"},
    {"syn-web-Google", "web n=916428 nnz=5105039 dmax=456 host=120 glob=.15 copy=.3"},
    {"syn-in-2004", "web n=1382908 nnz=16917053 dmax=7753 host=900 copy=.75 glob=.02"},
    {"syn-YeastH", "mol n=3138114 nnz=6487230 mean=39.4 h=.46"},
    {"syn-OVCAR-8H", "mol n=1889542 nnz=3946402 mean=46.7 h=.45"},
    {"syn-Yeast", "mol n=1710902 nnz=3636546 mean=21.5 h=0"},
    {"syn-roadNet-CA", "road n=1971281 nnz=5533214"},
    {"syn-roadNet-PA", "road n=1090920 nnz=3083796"},
    {"syn-cant", "fem nodes=20817 nx=9 ny=9 dof=3 pts=27 nnz=4007383"},
    {"syn-consph", "fem nodes=27778 nx=30 ny=30 dof=3 pts=27 nnz=6010480 win=64"},
    {"syn-rma10", "fem nodes=9367 nx=21 ny=21 dof=5 pts=15 nnz=2374001"},
    {"syn-shipsec1", "fem nodes=23479 nx=28 ny=28 dof=6 pts=15 nnz=7813404 win=128"},
    {"syn-cop20k_A", "fem nodes=99843 nx=46 ny=46 dof=1 pts=27 win=1024 total=121192"},
    {"syn-pdb1HYS", "cloud nodes=12139 dof=3 nnz=4344765"},
    {"syn-conf5_4-8x8", "qcd l=8 t=8"},
    {"syn-Emilia_923", "fem nodes=307712 nx=64 ny=64 dof=3 pts=15 nnz=40373538 win=512"},
    {"syn-FraudYelp-RSR",
     "graph n=45954 nnz=6805486 logn=.9 dmaxr=9 comm=300 csk=2.5 mu=0.0 shuf=2 win=2048 iso=1"},
    {"syn-mip1", "arrow n=66463 nnz=10352819"},
    {"syn-dc2", "circuit n=116835 nnz=766396 full=2"},
    {"syn-ASIC_680k", "circuit n=682862 nnz=3871773 full=3 fill=.55"},
    {"syn-dnn-90", "dnn m=2048 n=2048 sparsity=.90"},
    {"syn-dnn-95", "dnn m=2048 n=2048 sparsity=.95"},
    {"syn-dnn-98", "dnn m=2048 n=2048 sparsity=.98"},
    {"syn-rmat20", "rmat n=1048576 nnz=16777216"},
    {"syn-lap3d", "stencil nx=100 ny=100 nz=100 pts=7"},
    {"syn-band", "band n=200000 bw=20"},
    {"syn-circuit204", "circuit n=1020 nnz=5883 full=0"},
    {"syn-psmigr_1", "graph n=3140 nnz=543160 logn=.8 dmaxr=12 comm=48 csk=1 mu=.5 shuf=0"},
    {"syn-poisson3Da", "cloud nodes=13514 dof=1 nnz=352762"},
    {"syn-mosfet2", "fem nodes=23497 nx=28 ny=28 dof=2 pts=27 nnz=1499460"},
    {"syn-2cubes_sphere", "fem nodes=101492 nx=46 ny=46 dof=1 pts=19 nnz=1647264 win=2048"},
    {"syn-filter3D", "fem nodes=106437 nx=46 ny=46 dof=1 pts=27 nnz=2707179 win=64"},
    {"syn-scircuit", "circuit n=170998 nnz=958936 full=0"},
    {"syn-m133-b3", "rmat n=200200 nnz=800800 a=.25 b=.25 c=.25"},
    {"syn-mario002", "fem nodes=389874 nx=625 ny=624 dof=1 pts=9 nnz=2101242"},
    {"syn-eu-2005", "web n=862664 nnz=19235140 dmax=6985 host=900 copy=.75 glob=.02"},
};
enum { N_NAMED = sizeof named / sizeof named[0] };

static const struct {
    const char *kind;
    void (*generate)(const char *out);
} families[] = {
    {"graph", gen_graph},     {"rmat", gen_rmat}, {"web", gen_web},     {"mol", gen_mol},
    {"road", gen_road},       {"fem", gen_fem},   {"cloud", gen_cloud}, {"qcd", gen_qcd},
    {"stencil", gen_stencil}, {"band", gen_band}, {"arrow", gen_arrow}, {"dnn", gen_dnn},
    {"circuit", gen_circuit},
};
enum { N_FAMILIES = sizeof families / sizeof families[0] };

static int usage(void)
{
    (void)fprintf(stderr, "usage: gen_standins NAME OUT.csr [SEED] | KIND OUT.csr SEED "
                          "KEY=VALUE...\n");
    for (int i = 0; i < N_NAMED; i++) {
        (void)fprintf(stderr, "  %-20s %s\n", named[i].name, named[i].arguments);
    }
    return 2;
}

/* The family of @p name, whose arguments become those of parameter(). */
static const char *family_of(const char *name, char *copy, size_t room)
{
    const char *kind = name;

    for (int i = 0; i < N_NAMED; i++) {
        if (strcmp(named[i].name, name) == 0) {
            (void)snprintf(copy, room, "%s", named[i].arguments);
            kind = strtok(copy, " ");
            for (char *p = strtok(NULL, " "); p != NULL; p = strtok(NULL, " ")) {
                arguments[n_arguments++] = p;
            }
        }
    }
    return kind;
}

int main(int argc, char **argv)
{
    char        copy[256];
    const char *kind;

    if (argc < 3) {
        return usage();
    }
    kind = family_of(argv[1], copy, sizeof copy);
    for (int i = 4; i < argc && n_arguments < MOST_ARGUMENTS; i++) {
        arguments[n_arguments++] = argv[i];
    }
    random_seed(argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
    for (int i = 0; i < N_FAMILIES; i++) {
        if (strcmp(families[i].kind, kind) == 0) {
            families[i].generate(argv[2]);
            return 0;
        }
    }
    return usage();
}
