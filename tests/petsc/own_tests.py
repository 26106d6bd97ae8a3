#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""own_tests.py PLUGIN [FILE...]: PETSc's own tests of matrices and solvers, as Debian packages
them (libpetsc*-dev-examples), with -mat_type aij and with -mat_type spmmdist: equal exit codes,
equal texts, equal numbers.

FILEs are named as mat/tests/ex1.c; without any all are run, two at a time.  A list with the verdict
of each run goes to the current folder.  Exits with 1 where a run that passes with aij does not with
spmmdist, unless docs/how-to/petsc.md names the file, or where of all files no run is equal, and
with 77 where there are no examples.
"""
import collections
import concurrent.futures
import glob
import itertools
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

FOLDERS = ["mat/tests", "mat/tutorials", "ksp/ksp/tests", "ksp/ksp/tutorials"]
MOST_RANKS = 4
SECONDS = 60  # of one run
PAGE = pathlib.Path(__file__).parents[2] / "docs/how-to/petsc.md"
OWN = {"aij": "spmmdist", "seqaij": "seqaijspmmdist", "mpiaij": "mpiaijspmmdist"}
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")

if len(sys.argv) < 2:
    sys.exit(__doc__)
plugin = os.path.abspath(sys.argv[1])
chosen = sys.argv[2:]
kind = re.search(r"petsc_?(\w*)\.so", plugin)[1] or "real"
roots = sorted(glob.glob("/usr/share/petsc/*/share/petsc/examples"))
petscs = sorted(glob.glob(f"/usr/lib/petscdir/petsc*/*-{kind}"))
if not roots or not petscs:
    print("no examples of PETSc: install libpetsc3.18-dev-examples")
    sys.exit(77)
root, petsc = pathlib.Path(roots[-1]), petscs[-1]
data, top = root.parent / "datafiles", root.parents[2]
# What stands in for a matrix that the package lacks.
stand_in = f"{data}/matrices/{'nh-complex' if kind == 'complex' else 'ns-real'}-int32-float64"
sys.path.insert(0, str(root / "config"))
sys.dont_write_bytecode = True
import testparse  # noqa: E402  PETSc's own parser of the tests in its sources

work = pathlib.Path(tempfile.mkdtemp(prefix="own_tests"))
environment = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

Run = collections.namedtuple("Run", "file name ranks args type_given files")


def loops(text):
    """Texts without {{a b}...}: every value of each loop, not every combination."""
    found = re.findall(r"\{\{(.*?)\}[^}]*\}", text)
    for i in range(max([len(f.split()) for f in found], default=1)):
        values = (f.split()[i % len(f.split())] if f.split() else "" for f in found)
        yield re.sub(r"\{\{.*?\}[^}]*\}", lambda _, v=values: next(v), text)


def with_stand_ins(args):
    args = args.replace("${DATAFILESPATH}", str(data)).replace("${wPETSC_DIR}", str(top))
    return [stand_in if a.startswith(f"{data}/matrices/") and not os.path.exists(a) else a
            for a in shlex.split(re.sub(r"\d?>.*", "", args))]


def runs_of(file):
    """The runs of a file, but those with another type of matrix."""
    tests = testparse.parseTestFile(str(root / "src" / file), 0).get(os.path.basename(file), {})
    for name, test in tests.items():
        if not isinstance(test, dict) or not name.startswith("run"):
            continue
        cases = itertools.product(loops(str(test.get("nsize", "1"))), loops(test.get("args") or ""))
        for ranks, args in cases:
            try:
                words, ranks = with_stand_ins(args), int(ranks)
            except ValueError:  # quotes or numbers of a shell
                continue
            types = [i + 1 for i, w in enumerate(words[:-1]) if w.endswith("mat_type")]
            if ranks <= MOST_RANKS and all(words[i] in OWN for i in types):
                files = str(test.get("localrunfiles", "")).split()
                yield Run(file, name[3:], ranks, words, types, files)


def build(file):
    program = work / file.replace("/", "_").removesuffix(".c")
    command = ["mpicc", "-w", "-O1", f"-I{petsc}/include", str(root / "src" / file),
               "-o", str(program), f"{petsc}/lib/libpetsc_{kind}.so", "-lm"]
    built = subprocess.run(command, capture_output=True, check=False).returncode == 0
    return str(program) if built else None


def start(program, run, matrix):
    """Exit code, text and errors of a run, and whether it asked for the type of a matrix."""
    words = list(run.args)
    if matrix == "spmmdist":
        for i in run.type_given:
            words[i] = OWN[words[i]]
    options = f"-dll_append {plugin} -options_left -mat_type {matrix} -dm_mat_type {matrix}"
    command = [program, *words]
    if run.ranks > 1:
        command = [os.environ.get("MPIEXEC", "mpirun"), "-n", str(run.ranks), *command]
    with tempfile.TemporaryDirectory(dir=work) as folder:
        for name in run.files:
            path = (root / "src" / run.file).parent / name
            if path.is_file():
                shutil.copy(path, folder)
        done = subprocess.run(["timeout", "-k", "5", str(SECONDS), *command], cwd=folder,
                              env=dict(environment, PETSC_OPTIONS=options), errors="replace",
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    text = done.stdout
    unused = all(f"Option left: name:{o} value" in text for o in ("-mat_type", "-dm_mat_type"))
    text = re.split(r"#PETSc Option Table entries|WARNING! There are options you set", text)[0]
    text = re.sub(r"^.*spmm_dist: products with.*\n", "", text, flags=re.M)
    text = text.replace("aijspmmdist", "aij").replace("spmmdist", "aij")
    return done.returncode, text, done.stderr, bool(run.type_given) or not unused


def differ(a, b):
    """The first lines that are not equal.  Orders of sums may make the numbers in them differ."""
    for one, other in itertools.zip_longest(a.splitlines(), b.splitlines(), fillvalue="(no line)"):
        x, y = ([float(n) for n in NUMBER.findall(s)] for s in (one, other))
        near = len(x) == len(y) and all(abs(p - q) <= 1e-8 + 1e-5 * max(abs(p), abs(q))
                                        for p, q in zip(x, y))
        if not near or NUMBER.sub("#", one).split() != NUMBER.sub("#", other).split():
            return f"{one.strip()!r} with aij, {other.strip()!r} with spmmdist"
    return None


def judge(program, run):
    if program is None:
        return "not built", ""
    code, text, _, asks = start(program, run, "aij")
    if not asks:
        return "no type by option", ""
    if code != 0:
        return "fails with aij", str(code)
    own_code, own_text, errors, _ = start(program, run, "spmmdist")
    if own_code != 0:
        reasons = re.findall(r"PETSC ERROR: (?!-)(.*)", errors)[:2] or [repr(errors[-200:])]
        return "FAILS", f"exit code {own_code}: {': '.join(reasons)}"
    difference = differ(text, own_text)
    if difference:
        code, again, _, _ = start(program, run, "aij")
        if code == 0 and differ(text, again):
            return "aij differs from run to run", ""
    return ("DIFFERS", difference) if difference else ("equal", "")


def judge_file(file):
    runs = list(runs_of(file))
    program = build(file) if runs else None
    verdicts = [(run, *judge(program, run)) for run in runs]
    if program:
        os.remove(program)
    return verdicts


files = chosen or [f"{f}/{p.name}" for f in FOLDERS for p in sorted((root / "src" / f).glob("*.c"))]
named = set(re.findall(r"`((?:mat|ksp)/[\w/]+\.c)`", PAGE.read_text()))
count = collections.Counter()
with concurrent.futures.ThreadPoolExecutor(2) as pool, \
        open(f"own_tests_{kind}.tsv", "w") as table:
    print("verdict\tfile\trun\tranks\twhy", file=table)
    for run, verdict, why in itertools.chain.from_iterable(pool.map(judge_file, files)):
        if verdict.isupper() and run.file in named:
            verdict = f"named: {verdict.lower()}"
        count[verdict] += 1
        print(verdict, run.file, run.name, run.ranks, why, sep="\t", file=table, flush=True)
        if verdict.isupper():
            print(f"{run.file} {run.name} on {run.ranks}: {verdict}: {why}", flush=True)
shutil.rmtree(work)
print(f"{count.total()} runs: " + ", ".join(f"{n} {v}" for v, n in count.most_common()))
sys.exit(1 if count["FAILS"] + count["DIFFERS"] or not (chosen or count["equal"]) else 0)
