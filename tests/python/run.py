# SPDX-License-Identifier: Apache-2.0
"""run.py RANKS [pytest argument...]: the tests of the Python package under mpirun.  77, and a
sentence, where a module is missing."""
import importlib.util
import os
import sys

ranks, *arguments = sys.argv[1:]
missing = [m for m in ("numpy", "scipy", "mpi4py", "cffi", "pytest")
           if importlib.util.find_spec(m) is None]
if missing:
    print(f"skipped: {sys.executable} has no {', '.join(missing)}: SPMM_SETUP_PYTHON=1 "
          "scripts/setup.sh installs what it takes")
    sys.exit(77)
command = [os.environ["MPIEXEC"], os.environ["MPIEXEC_NUMPROC_FLAG"], ranks, sys.executable, "-m",
           "pytest", "-q", "-p", "no:cacheprovider", "--color=no", "--tb=short",
           *arguments]
os.execv(command[0], command)
