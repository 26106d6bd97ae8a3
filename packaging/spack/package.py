# SPDX-License-Identifier: Apache-2.0
"""Spack recipe: a repository's packages/spmm-dist/package.py."""
# flake8: noqa: F403, F405
from spack.package import *


class SpmmDist(CMakePackage, CudaPackage):
    """Distributed multi-GPU product of a sparse matrix and a tall dense block over MPI."""

    license("Apache-2.0")
    # `spack dev-build` builds a checkout; a release adds its url and sha256.
    version("0.1.0")

    variant("shared", default=True, description="Build a shared library")
    variant("metis", default=True, description="Partition by METIS")
    variant("ptscotch", default=True, description="Partition by PT-Scotch")
    variant("nccl", default=True, when="+cuda", description="Exchange by NCCL")
    variant("petsc", default=False, description="Install the matrix type for PETSc")
    variant("tools", default=True, description="Install the program spmm_dist")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("cmake@3.24:", type="build")
    depends_on("mpi@3.1:")
    depends_on("zlib-api")
    depends_on("cjson", when="+tools")
    depends_on("metis@5:", when="+metis")
    depends_on("scotch@7:+mpi", when="+ptscotch")
    depends_on("petsc@3.17:+mpi", when="+petsc")
    depends_on("cuda@12:", when="+cuda")
    depends_on("nccl@2.18:", when="+nccl")

    conflicts("cuda_arch=none", when="+cuda", msg="name the GPU, for example cuda_arch=90")
    for arch in ("60", "61", "62", "70", "72", "75"):
        conflicts(f"cuda_arch={arch}", msg="the tensor-core kernels need cuda_arch=80 or later")

    def cmake_args(self):
        args = [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("SPMM_ENABLE_CUDA", "cuda"),
            self.define_from_variant("SPMM_ENABLE_METIS", "metis"),
            self.define_from_variant("SPMM_ENABLE_PTSCOTCH", "ptscotch"),
            self.define_from_variant("SPMM_ENABLE_PETSC", "petsc"),
            self.define_from_variant("SPMM_BUILD_TOOLS", "tools"),
            # Of Fortran there are tests alone; the Python package is installed by pip.
            self.define("SPMM_ENABLE_FORTRAN", self.run_tests),
            self.define("SPMM_ENABLE_PYTHON", False),
            self.define("SPMM_ENABLE_NCCL", self.spec.satisfies("+cuda+nccl")),
            self.define("SPMM_BUILD_EXAMPLES", False),
            self.define("SPMM_BUILD_TESTS", self.run_tests),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES",
                                    ";".join(self.spec.variants["cuda_arch"].value)))
        return args
