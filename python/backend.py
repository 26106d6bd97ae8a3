# SPDX-License-Identifier: Apache-2.0
"""What pip and build call: scikit-build-core, whose source distribution gets the library as well,
in library/, where the folder is in its source tree."""
import contextlib
import pathlib
import shutil

from scikit_build_core import build
from scikit_build_core.build import *  # noqa: F401,F403: the rest as it is

HERE = pathlib.Path(__file__).parent
PARTS = ("CMakeLists.txt", "LICENSE", "NOTICE", "cmake", "include", "kernels", "partition", "src")


@contextlib.contextmanager
def _library():
    """library/ as long as it lasts; one that is there came with a source distribution."""
    made, tree = HERE / "library", HERE.parent
    if made.exists() or not (tree / "include" / "spmm_dist" / "version.h").exists():
        yield
        return
    try:
        made.mkdir()
        for part in (tree / name for name in PARTS):
            copied = shutil.copytree if part.is_dir() else shutil.copy
            copied(part, made / part.name)
        yield
    finally:
        shutil.rmtree(made)


def build_sdist(sdist_directory, config_settings=None):
    with _library():
        return build.build_sdist(sdist_directory, config_settings)
