#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A stranger's walk: the commands of the README and the guides, top to bottom, as they are printed.

walk.py           with the finished build SPMM_BUILD: what installs, builds and tests everything
                  (scripts/demo.sh, scripts/test.sh, cmake --build) is CI itself, only recognised
walk.py --full    on a fresh copy of the repository, nothing built: all of it but scripts/test.sh

Where a command needs something that the reader is said to have, it is here: web.mtx.gz, his own
matrix; my_program.c, the first example.  `cmake --install` goes below a folder of its own
(DESTDIR).
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = ["README.md", "docs/tutorial/first_product.md", "docs/how-to/build.md",
             "docs/how-to/read_a_report.md", "docs/explanation/how_it_works.md"]
BUILDS = re.compile(r"scripts/demo\.sh|cmake --preset|cmake --build")
CMAKE_LINES = re.compile(r"find_package\(|target_link_libraries\(")
NO_COMMAND = re.compile(r"base <- device|C = alpha")


def commands(document):
    """Indented lines after an empty one, outside of ``` blocks; comments of the shell go."""
    found, fenced, before = [], False, ""
    for line in (ROOT / document).read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and line.startswith("    ") and (before == "" or before.startswith("    ")):
            found.append(re.sub(r"\s+# .*", "", line.strip()))
        before = line
    return found


def run(command, where, env):
    done = subprocess.run(["bash", "-c", "set -e; " + command], cwd=where, env=env, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=1500, check=False)
    if done.returncode != 0:
        sys.exit(f"walk.py: exit code {done.returncode} of: {command}\n{done.stdout}")
    return done.stdout


def prepare(where, full):
    """The repository as a stranger has it; with the finished build unless full."""
    if full:
        files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT,
                               check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()
        for name in files:
            if (ROOT / name).is_file():
                (where / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, where / name)
    else:
        for entry in ROOT.iterdir():
            if entry.name not in ("build", ".git"):
                (where / entry.name).symlink_to(entry)
        (where / "build").mkdir()
        (where / "build" / "cpu").symlink_to(os.environ["SPMM_BUILD"])
    shutil.copy(ROOT / "tests/data/bips98_606.mtx.gz", where / "web.mtx.gz")
    shutil.copy(ROOT / "examples/00_first_product.c", where / "my_program.c")


def environment(where):
    """As scripts/setup.sh sets it, and where the installed library is."""
    env = dict(os.environ, DESTDIR=str(where / "installed"), OMPI_MCA_rmaps_base_oversubscribe="1",
               OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
               PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe")
    return env


def after_install(where, env):
    found = sorted((where / "installed").rglob("spmm_dist.pc"))
    if not found:
        sys.exit("walk.py: nothing was installed")
    env["PKG_CONFIG_PATH"] = str(found[0].parent)
    env["LD_LIBRARY_PATH"] = str(found[0].parents[1]) + ":" + env.get("LD_LIBRARY_PATH", "")


def in_reading_order():
    """What a reader does in the README, what is installed before what needs it, then the guides."""
    readme = commands("README.md")
    needs_install = [c for c in readme if "pkg-config" in c]
    order = [c for c in readme if c not in needs_install] + needs_install
    for document in DOCUMENTS[1:]:
        order += commands(document)
    return order


def main():
    full = "--full" in sys.argv[1:]
    ran = recognised = 0
    with tempfile.TemporaryDirectory() as folder:
        where = pathlib.Path(folder)
        prepare(where, full)
        env = environment(where)
        for command in in_reading_order():
            if CMAKE_LINES.match(command):  # tests/consumer builds with these very lines
                name = command.replace("my_program", "consumer")
                text = (ROOT / "tests/consumer/CMakeLists.txt").read_text(encoding="utf-8")
                if name not in text:
                    sys.exit(f"walk.py: tests/consumer does not have: {name}")
                recognised += 1
            elif NO_COMMAND.match(command):
                recognised += 1
            elif command == "scripts/test.sh" or (BUILDS.match(command) and not full):
                script = ROOT / command
                if command.startswith("scripts/") and not os.access(script, os.X_OK):
                    sys.exit(f"walk.py: {command} cannot be executed")
                recognised += 1
            else:
                print("$", command, flush=True)
                run(command, where, env)
                ran += 1
                if command.startswith("cmake --install"):
                    after_install(where, env)
        printed = run("mpirun -n 2 ./my_program web.mtx.gz", where, env)
        if "sum of A * ones" not in printed:
            sys.exit(f"walk.py: the first example printed {printed}")
    print(f"{ran} commands ran, {recognised} were recognised")
    if ran < 6:
        sys.exit("walk.py: too few commands were found")


if __name__ == "__main__":
    main()
