# SPDX-License-Identifier: Apache-2.0
"""The runners of benchmarks/ on two short pipelines and one bug, with real runs of the tools."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from warm import warm_python  # noqa: E402

BENCHMARKS = ROOT / "benchmarks"
BIN = pathlib.Path(sys.argv.pop(sys.argv.index("--bin") + 1)) if "--bin" in sys.argv else None
if BIN:
    sys.argv.remove("--bin")
AS_PYTHON = "--python", warm_python(also=["sklearn.datasets"], OMP_NUM_THREADS="1")


PYTHON_TOOL = """\
import pathlib, sys
def option(name):
    return pathlib.Path(sys.argv[sys.argv.index(name) + 1])
program = pathlib.Path(sys.argv[0]).name
if program == "traincheck-collect":
    if option("--pyscript").stem == "vae":
        sys.exit("Traceback:\\n  somewhere\\nValueError: no such tensor")
    option("--output-dir").mkdir(parents=True)
    (option("--output-dir") / "trace_API_1_1.log").write_text("{}\\n" * 5)
elif program == "traincheck-infer":
    option("-o").write_text("{}\\n" * 4)
else:
    report = option("-o") / option("-f").name
    report.mkdir(parents=True)
    (report / "failed.log").write_text("{\\n    \\"x\\": 1\\n}\\n")
    (report / "passed.log").write_text("{\\n}\\n{\\n}\\n")
"""

TRAINING = """\
import argparse
import torch
p = argparse.ArgumentParser()
p.add_argument("--seed", type=int, default=0)
torch.manual_seed(p.parse_args().seed)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(12):
    loss = model(torch.randn(8, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


class Runners(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.work = pathlib.Path(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def bench(self, which, *arguments, code=0):
        p = subprocess.run([sys.executable, "-B", BENCHMARKS / which / "run.py", "--bin", BIN, "--work", self.work,
                            *AS_PYTHON, *arguments], capture_output=True, text=True)
        self.assertEqual(p.returncode, code, p.stdout + p.stderr)
        return p.stdout

    def test_1_a_trace_is_kept_until_the_script_changes(self):
        self.assertIn(" s  ", self.bench("pipelines", "gcn"))
        self.assertIn("kept", self.bench("pipelines", "gcn"))
        self.bench("pipelines", "--variant", "seed=3,steps=x0.25", "gcn")
        self.assertTrue(list((self.work / "traces" / "gcn+seed=3,steps=x0.25").glob("*.jsonl.zst")))

    def test_2_false_positives(self):
        out = self.bench("false_positives", "--learn", "1", "--validate", "1", "--draws", "2", "gcn", "vae")
        self.assertIn("2 pipelines, 2 draws, 1 validated in each.", out)
        rows = json.loads((self.work / "false_positives.json").read_text())["1"]["rows"]
        self.assertEqual(len(rows), 2)
        for row in rows:
            self.assertLessEqual(row["failed"] + row["passed"], row["invariants"])

    def test_3_variants_by_their_own_invariants(self):
        self.assertIn("own: 0 of 5 other runs of 1 pipelines have an alarm", self.bench("false_positives", "--own", "gcn"))

    def test_4_detection(self):
        out = self.bench("detection", "--mode", "own", "--only", "titan3575", BENCHMARKS / "bugs")
        self.assertIn("own: 1 of 1 found, 1 named by the first finding (chance: 0 of 0)", out)
        row, = json.loads((self.work / "detection.json").read_text())
        self.assertEqual((row["found"], row["step"], row["alarms"]), (True, 0, {}))
        self.assertIn("| titan3575_zero_grad_each_microbatch | own |", (self.work / "report.md").read_text())

    def test_5_no_tools(self):
        p = subprocess.run([sys.executable, BENCHMARKS / "pipelines" / "run.py", "--bin", "/nonexistent", "--work", self.work],
                           capture_output=True, text=True)
        self.assertEqual((p.returncode, p.stderr), (2, "pipelines: /nonexistent: no tools there; build them, or name them with --bin\n"))

    def test_6_a_long_run_loses_nothing_and_does_not_grow(self):
        p = subprocess.run([sys.executable, "-B", BENCHMARKS / "collect" / "long.py", "--bin", BIN, *AS_PYTHON, "--seconds", "20"],
                           capture_output=True, text=True)
        self.assertEqual((p.returncode, len(p.stdout.splitlines())), (0, 5), p.stdout + p.stderr)

    def test_7_what_single_calls_cost(self):
        p = subprocess.run([sys.executable, "-B", BENCHMARKS / "collect" / "calls.py", "--bin", BIN, *AS_PYTHON, "--pairs", "1"],
                           capture_output=True, text=True)
        self.assertEqual((p.returncode, len(p.stdout.splitlines())), (0, 11), p.stdout + p.stderr)

    def test_8_beside_a_tool_that_accuses_and_fails(self):
        """What the Python tool says is read, and how it fails is told; one that only says so stands in for it."""
        upstream = self.work / "upstream"
        upstream.mkdir()
        for program in ("collect", "infer", "check"):
            (upstream / f"traincheck-{program}").write_text(f"#!/usr/bin/env python3\n{PYTHON_TOOL}")
            (upstream / f"traincheck-{program}").chmod(0o755)
        p = subprocess.run([sys.executable, "-B", BENCHMARKS / "false_positives" / "python_tool.py", "--bin", BIN, "--work", self.work,
                            *AS_PYTHON, "--upstream", upstream, "--steps", "8", "--learn", "1", "--validate", "1",
                            "gcn", "lbfgs_diabetes", "vae"], capture_output=True, text=True)
        self.assertEqual(p.returncode, 0, p.stdout + p.stderr)
        self.assertIn('{"pipeline": "vae", "failed": "collect: exit status 1: ValueError: no such tensor"}', p.stdout)
        self.assertIn("2 of 3 pipelines collected by both tools, 0 of them print the same under either", p.stdout)
        self.assertIn("| 1 | Python tool | 4 | 25.00 % | 33.33 % | 0 of 1 | 0 |", p.stdout)

    def test_9_what_learning_costs(self):
        p = subprocess.run([sys.executable, "-B", BENCHMARKS / "infer" / "run.py", "--bin", BIN, *AS_PYTHON, "--events", "20000",
                            "--growth", "1", "2", "--runs", "1"], capture_output=True, text=True)
        self.assertEqual((p.returncode, len(p.stdout.splitlines())), (0, 5), p.stdout + p.stderr)

    def test_10_a_first_screen(self):
        """A line that was taken out is named by those around its place, and the screen is written for readers."""
        pairs, readers = self.work / "pairs", self.work / "readers"
        (pairs / "bugs" / "uncleared").mkdir(parents=True)
        (pairs / "bugs" / "uncleared" / "ref.py").write_text(TRAINING)
        (pairs / "bugs" / "uncleared" / "bug.py").write_text(TRAINING.replace("    optimizer.zero_grad()\n", ""))
        entry = {"kind": "order", "lines_before": [10], "lines_after": [], "near_after": [9, 10, 11], "wrong": "added up"}
        (pairs / "cases.json").write_text(json.dumps({"uncleared": entry}))
        out = self.bench("diagnosis", "--pairs", pairs, "--readers", readers, "--commit", "abc")
        self.assertRegex(out, r"1 of 1: pairs/uncleared: changed line first, \d+ findings?, \d+ lines\n")
        self.assertRegex(out, r"\| abc(, groups)? \| pairs \| 1 \| 1 \(100 %\) \|")
        (name, key), = json.loads((readers / "key.json").read_text()).items()
        self.assertEqual((key["case"], key["wrong"]), ("pairs/uncleared", "added up"))
        self.assertIn("train.py:", (readers / "screens" / f"{name}.txt").read_text())
        self.assertIn("holds files", subprocess.run([sys.executable, BENCHMARKS / "diagnosis" / "run.py", "--readers", readers],
                                                    capture_output=True, text=True).stderr)


if __name__ == "__main__":
    unittest.main()
