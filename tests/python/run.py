# SPDX-License-Identifier: Apache-2.0
"""run.py RANKS FOLDER|PROGRAM [argument...]: the tests of a folder, or a program, under mpirun.
Exit code 77, and a sentence, where a module is missing."""
import importlib.util
import os
import sys

ranks, what, *arguments = sys.argv[1:]
needed = ["numpy", "scipy", "mpi4py", "cffi"]
needed += ["pytest"] if os.path.isdir(what) else [] if what.endswith("lobpcg.py") else ["torch"]
missing = [m for m in needed if importlib.util.find_spec(m) is None]
if missing:
    print(f"skipped: {sys.executable} has no {', '.join(missing)}: SPMM_SETUP_PYTHON=1 "
          "scripts/setup.sh installs what it takes")
    sys.exit(77)
command = [os.environ["MPIEXEC"], os.environ["MPIEXEC_NUMPROC_FLAG"], ranks, sys.executable]
if os.path.isdir(what):
    command += ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no", "--tb=short",
                "--capture=sys"]  # a watchdog writes to the file descriptor
os.execv(command[0], command + [what, *arguments])
