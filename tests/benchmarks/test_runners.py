"""The runners of benchmarks/ on two short pipelines and one bug, with real runs of the tools."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCHMARKS = pathlib.Path(__file__).resolve().parents[2] / "benchmarks"
BIN = pathlib.Path(sys.argv.pop(sys.argv.index("--bin") + 1)) if "--bin" in sys.argv else None
if BIN:
    sys.argv.remove("--bin")


class Runners(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.work = pathlib.Path(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def bench(self, which, *arguments, code=0):
        p = subprocess.run([sys.executable, "-B", BENCHMARKS / which / "run.py", "--bin", BIN, "--work", self.work, *arguments],
                           capture_output=True, text=True)
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
        self.assertIn("own: 1 of 1 found, 1 named in the first group", out)
        row, = json.loads((self.work / "detection.json").read_text())
        self.assertEqual((row["found"], row["step"], row["alarms"]), (True, 0, {}))
        self.assertIn("| titan3575_zero_grad_each_microbatch | own |", (self.work / "report.md").read_text())

    def test_5_no_tools(self):
        p = subprocess.run([sys.executable, BENCHMARKS / "pipelines" / "run.py", "--bin", "/nonexistent", "--work", self.work],
                           capture_output=True, text=True)
        self.assertEqual((p.returncode, p.stderr), (2, "pipelines: /nonexistent: no tools there; build them, or name them with --bin\n"))

    def test_6_a_long_run_loses_nothing_and_does_not_grow(self):
        p = subprocess.run([sys.executable, "-B", BENCHMARKS / "collect" / "long.py", "--bin", BIN, "--seconds", "20"],
                           capture_output=True, text=True)
        self.assertEqual((p.returncode, len(p.stdout.splitlines())), (0, 5), p.stdout + p.stderr)

    def test_7_what_single_calls_cost(self):
        p = subprocess.run([sys.executable, "-B", BENCHMARKS / "collect" / "calls.py", "--bin", BIN, "--pairs", "1"],
                           capture_output=True, text=True)
        self.assertEqual((p.returncode, len(p.stdout.splitlines())), (0, 8), p.stdout + p.stderr)


if __name__ == "__main__":
    unittest.main()
