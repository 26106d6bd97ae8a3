#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_spack.py SOURCE BUILD: packaging/spack/package.py without Spack, whose directives are stood
in for here: what it gives CMake are the options of CMakeLists.txt, all of them, its version is
the library's, and CMake configures with them, whatever variants are on."""
import itertools
import pathlib
import re
import subprocess
import sys
import tempfile
import types

SOURCE, BUILD = (pathlib.Path(a) for a in sys.argv[1:3])
CMAKE_OWN = {"BUILD_SHARED_LIBS", "CMAKE_CUDA_ARCHITECTURES"}


class Spec:
    """Variants by name; +a~b asks for them."""

    def __init__(self, on):
        self.on = on
        self.variants = {"cuda_arch": types.SimpleNamespace(value=("80", "90"))}

    def satisfies(self, text):
        return all((sign == "+") == self.on[name]
                   for sign, name in re.findall(r"([+~])([a-z0-9]+)", text))


class Package:
    run_tests = False
    variants, versions = {}, []

    def define(self, name, value):
        return f"-D{name}={value if isinstance(value, str) else 'ON' if value else 'OFF'}"

    def define_from_variant(self, name, variant):
        return self.define(name, self.spec.on[variant])


def load():
    """The class of the recipe."""
    spack, package = types.ModuleType("spack"), types.ModuleType("spack.package")
    package.CMakePackage = Package
    package.CudaPackage = type("CudaPackage", (), {})
    package.variant = lambda name, **how: Package.variants.update({name: how})
    package.version = lambda number, **how: Package.versions.append(number)
    for directive in ("license", "depends_on", "conflicts"):
        setattr(package, directive, lambda *a, **how: None)
    sys.modules.update({"spack": spack, "spack.package": package})
    names = {}
    recipe = SOURCE / "packaging/spack/package.py"
    exec(compile(recipe.read_text(encoding="utf-8"), recipe, "exec"), names)
    return names["SpmmDist"]


def arguments(recipe, on):
    made = recipe()
    made.spec = Spec(on)
    return dict(arg[2:].split("=", 1) for arg in made.cmake_args())


def configure(args):
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        done = subprocess.run(["cmake", "-S", SOURCE, "-B", folder, "-G", "Ninja",
                               *(f"-D{k}={v}" for k, v in args.items())],
                              capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    unused = re.search(r"not used by the project:\s*([\w\s]*)", done.stderr)
    assert unused is None, unused[0]


def main():
    recipe = load()
    cmake = (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8")
    options = set(re.findall(r"^option\((SPMM_\w+)", cmake, re.M))
    header = (SOURCE / "include/spmm_dist/version.h").read_text(encoding="utf-8")
    assert Package.versions[0] == re.search(r'SPMM_VERSION_STRING "([^"]*)"', header)[1]
    names = [*Package.variants, "cuda"]
    for values in itertools.product((False, True), repeat=len(names)):
        args = arguments(recipe, dict(zip(names, values)))
        given = set(args) - CMAKE_OWN
        assert given == options, f"recipe and CMakeLists.txt differ in {given ^ options}"
        assert ("CMAKE_CUDA_ARCHITECTURES" in args) == values[-1]
    for on in (True, False):
        configure(arguments(recipe, {name: on and name != "cuda" for name in names}))
    print(f"{2 ** len(names)} combinations of {len(names)} variants, {len(options)} options")


if __name__ == "__main__":
    main()
