# SPDX-License-Identifier: Apache-2.0
"""The times of published systems on one H200: bench/results/peers_*.tsv."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/common"))
import table  # noqa: E402

BASELINE = ("cusparse-csr-alg2-row", "cusparse-csr-alg3-row")
SCALAR = ("Sputnik", "GE-SpMM (dgSPARSE)", "cuSPARSE")  # Best-SC of cuTeSpMM


class Published:
    def __init__(self):
        folder = ROOT / "bench/results"
        needed = ("system", "of", "paper", "bits", "fastest")
        systems = table.read(folder / "peers_systems.tsv", needed)[2]
        self.systems = {row["system"]: row for row in systems}
        _, titles, rows = table.read(folder / "peers_times.tsv", ("matrix", "N", *BASELINE))
        missing = [s for s in self.systems if s not in titles]
        if missing:
            raise table.TableError(f"{folder / 'peers_times.tsv'}: no column {missing[0]}")
        self.ms = {(row["matrix"], row["N"]): {
            s: row[s] for s in self.systems if isinstance(row[s], float)} for row in rows}

    def cusparse(self, key):
        """Milliseconds of the faster of its CSR algorithms in FP32."""
        return min(self.ms[key][name] for name in BASELINE if name in self.ms[key])

    def best(self, key, chosen):
        """The least time of the systems for which @p chosen(its row) holds, None without any."""
        found = [ms for s, ms in self.ms[key].items() if chosen(self.systems[s])]
        return min(found, default=None)

    def ratios(self, chosen):
        """(matrix, N) -> speed-up over cuSPARSE of the fastest of these systems on it."""
        found = {key: self.best(key, chosen) for key in self.ms}
        return {key: self.cusparse(key) / ms for key, ms in found.items() if ms}

    def fastest(self, bits):
        """The same of the systems of 32 or 16 bits that are compared with."""
        return self.ratios(lambda s: s["bits"] == bits and s["fastest"] == "yes")

    def of_paper(self, paper):
        return self.ratios(lambda s: s["paper"] == paper)

    def best_scalar(self):
        """The fastest on CUDA cores in FP32."""
        return self.ratios(lambda s: s["bits"] == 32 and s["of"] in SCALAR
                           and not s["system"].endswith("-col") and "bsr" not in s["system"])
