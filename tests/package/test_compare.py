# SPDX-License-Identifier: Apache-2.0
"""libtraincheck.compare: what differs between two runs, on traces that a test writes and on those of examples/compare.

usage: test_compare.py --bin BUILD/bin [--python PYTHON] [TEST...]; PYTHON has torch
"""

import argparse
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import libtraincheck

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from warm import warm_python  # noqa: E402

DOC = (ROOT / "docs" / "comparison-format.md").read_text()
BIN, PYTHON = None, None


def write_run(folder, calls=("forward", "clip", "step"), size=1, steps=4, settings=(), at="train.py", operators=True):
    """A loop that makes calls of these roles in each step, on lines of their own; clip is given `size`. Weights follow from both."""
    head = {"type": "process", "schema": 6, "pid": 1, "role": "main", "packages": {"torch": "2.13"}, "argv": ["train.py", *settings],
            "content": "batches", "digest": "nh64", "mode": "full", "operators": operators}
    records = [head, *({"type": "api", "fn": f"lib.{role}", "role": role} for role in ("forward", "clip", "step"))]
    records.append({"type": "var", "var": 9, "t": 0, "name": "w", "kind": "Parameter", "attrs": {"data": "f" * 16}})
    records.append({"type": "step", "step": 0, "t": 0, "stage": "init", "why": "data"})
    i = 0
    for step in range(steps):
        for role in calls:
            records.append({"type": "call", "id": i, "fn": f"lib.{role}", "t": 2 * i, "step": step, "stage": "training", "by": "user",
                            "at": f"{at}:{('forward', 'clip', 'step').index(role) + 10}",
                            "args": {"x": size if role == "clip" else 0}})
            if role == "step":
                records.append({"type": "var", "var": 9, "t": 2 * i, "cause": i, "attrs": {"data": f"{step + 16 * size + 64 * len(calls):016d}"}})
            records.append({"type": "return", "id": i, "t": 2 * i + 1, "value": None})
            i += 1
        records.append({"type": "step", "step": step, "t": 2 * i, "stage": "training", "why": "data"})
    records.append({"type": "end", "t": 2 * i + 2, "events": 1, "dropped": 0, "exit": 0})
    folder.mkdir()
    (folder / "trace_1.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    return folder


def documented(title):
    """The keys in the first columns of the tables of a section of docs/comparison-format.md."""
    text = next(s for s in re.split(r"^## ", DOC, flags=re.M) if s.startswith(title))
    return {key for row in re.findall(r"^\| (.*?) \|", text, flags=re.M) for key in re.findall(r"`([^`]+)`", row)}


def keys_of(text, function):
    """The keys that a function of a C file sets in an object of JSON."""
    body = re.search(rf"^\S[^\n]*\b{function}\([^;]*?\n\{{\n.*?^\}}", text, flags=re.M | re.S)[0]
    return set(re.findall(r'(?:tc_json_set\w*|set_text|set_call|set_line)\((?:c, )?\w+, "(\w+)"', body))


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.work = pathlib.Path(os.path.realpath(scratch.name))

    def run_of(self, name, **how):
        return write_run(self.work / name, **how)


class Compare(Case):
    def test_a_comparison_is_that_of_the_tool(self):
        before, after = self.run_of("before"), self.run_of("after", calls=("forward", "step"))
        p = subprocess.run([BIN / "traincheck-check", "--json", after, "--against", before, "-o", self.work / "report"],
                           capture_output=True, text=True, stdin=subprocess.DEVNULL)
        self.assertEqual(p.returncode, 1, p.stderr)
        *lines, summary = map(json.loads, p.stdout.splitlines())
        comparison = libtraincheck.compare(after, before)
        self.assertEqual(([d.raw for d in comparison.differences], comparison.summary), (lines, summary))
        self.assertIsNone(comparison.output_dir)

    def test_a_call_that_is_missing(self):
        comparison = libtraincheck.compare(self.run_of("after", calls=("forward", "step")), self.run_of("before"))
        self.assertFalse(comparison)
        self.assertFalse(comparison.equal)
        first = comparison.first
        self.assertEqual((first.kind, first.what, first.at, first.at_reference, first.call_reference, first.step, first.set_aside),
                         ("calls", "missing", None, "train.py:11", "lib.clip", 0, None))
        self.assertEqual(str(first), "train.py:11, step 0: clip() is no longer called")
        self.assertRegex(repr(comparison), r"^<Comparison: \d+ differences?, \d+ set aside>$")
        self.assertIn("\n  train.py:11, step 0: clip() is no longer called", str(comparison))
        self.assertIn("<td style='text-align: left'>clip() is no longer called</td>", comparison._repr_html_())

    def test_an_argument(self):
        first = libtraincheck.compare(self.run_of("after", size=2), self.run_of("before")).first
        self.assertEqual((first.kind, first.what, first.was, first.is_, first.times), ("arguments", "other", "1", "2", 4))

    def test_equal_runs(self):
        comparison = libtraincheck.compare(self.run_of("after"), self.run_of("before"), output_dir=self.work / "report")
        self.assertTrue(comparison)
        self.assertEqual((comparison.differences, comparison.first, comparison.equal), ([], None, True))
        self.assertEqual(repr(comparison), "<Comparison: no differences, 0 set aside>")
        self.assertEqual(comparison._repr_html_(), "<p>TrainCheck: no differences, 0 set aside</p>")
        self.assertEqual(comparison.output_dir, str(self.work / "report"))
        self.assertEqual(json.loads((self.work / "report" / "comparison_summary.json").read_text()), comparison.summary)

    def test_several_healthy_runs(self):
        """What they differ in is set aside, and told last."""
        healthy = [self.run_of("one"), self.run_of("two", settings=["--name", "b"])]
        comparison = libtraincheck.compare(self.run_of("after", settings=["--name", "c"]), healthy)
        self.assertTrue(comparison.equal)
        self.assertEqual([(d.kind, d.set_aside) for d in comparison.differences], [("command", "healthy")])
        self.assertEqual(comparison.summary["healthy_runs"], 2)

    def test_a_resumed_run(self):
        whole, rest = self.run_of("whole", steps=6), self.run_of("rest", steps=2)
        comparison = libtraincheck.compare(rest, whole, resumed=True, from_step=3)
        self.assertEqual(comparison.summary["resumed_at"], 3)
        with self.assertRaisesRegex(libtraincheck.TrainCheckError, "no step 60"):
            libtraincheck.compare(rest, whole, resumed=True, from_step=60)

    def test_errors(self):
        run = self.run_of("run")
        with self.assertRaisesRegex(FileNotFoundError, "nowhere"):
            libtraincheck.compare(run, self.work / "nowhere")
        with self.assertRaisesRegex(FileNotFoundError, "nowhere"):
            libtraincheck.compare(self.work / "nowhere", [run])
        with self.assertRaisesRegex(libtraincheck.TrainCheckError, "cannot be compared: .* another operators"):
            libtraincheck.compare(run, self.run_of("other", operators=False))
        with self.assertRaisesRegex(libtraincheck.TrainCheckError, "from_step without resumed"):
            libtraincheck.compare(run, run, from_step=3)
        with self.assertRaisesRegex(libtraincheck.TrainCheckError, "-1 is no step"):
            libtraincheck.compare(run, run, resumed=True, from_step=-1)
        with self.assertRaisesRegex(libtraincheck.TrainCheckError, "no healthy run"):
            libtraincheck.compare(run, [])
        (self.work / "file").write_text("")
        with self.assertRaises(OSError):
            libtraincheck.compare(run, run, output_dir=self.work / "file" / "below")

    def test_what_is_shown_steers_nothing(self):
        comparison = libtraincheck.compare(self.run_of("after", calls=("forward", "step")), self.run_of("before"))
        at = "::error::x\x1b]0;title\x07<script>"
        hostile = dataclasses.replace(comparison.differences[0], at=at)
        comparison = dataclasses.replace(comparison, differences=[hostile])
        self.assertEqual(comparison.first.at, at)  # the field is as it was
        for text in str(comparison.first), str(comparison), comparison._repr_html_():
            self.assertIn("?:error::x?]0;title?", text)
        self.assertNotIn("<script>", comparison._repr_html_())


class Format(Case):
    """docs/comparison-format.md is the contract: whatever is written stands in it."""

    def written(self, name, against, **how):
        """The lines and the summary that a comparison writes."""
        folder = self.work / f"{name}.report"
        libtraincheck.compare(self.run_of(name, **how), against, output_dir=folder)
        *lines, last = map(json.loads, (folder / "differences.jsonl").read_text().splitlines())
        summary = json.loads((folder / "comparison_summary.json").read_text())
        self.assertEqual(last, summary)
        return lines, summary

    def test_fields(self):
        before = self.run_of("before")
        seen = {}
        for name, how in (("dropped", {"calls": ("forward", "step")}), ("another", {"size": 2}), ("settings", {"settings": ["--x"]}),
                          ("moved", {"calls": ("clip", "forward", "step")}), ("equal", {})):
            lines, summary = self.written(name, before, **how)
            for line in lines:
                self.assertEqual(set(line) - documented("A difference"), set(), line)
                self.assertIn(line["kind"], documented("Kinds"))
                self.assertIn(line["what"], documented("What differs"))
                self.assertIn(line.get("set_aside", "data"), documented("What is set aside"))
                for key in ("kind", "what", "text", "rank", "times", "shown"):
                    self.assertIn(key, line)
                seen.setdefault(line["kind"], set()).add(line["what"])
            self.assertEqual(set(summary) - documented("Summary"), set())
            self.assertEqual(set(summary["differences"]), documented("Kinds"))
            self.assertEqual(summary["schema"], int(re.search(r"schema (\d+)", DOC)[1]))
            self.assertEqual(sum(summary["differences"].values()), summary["counted"])
            self.assertEqual(summary["counted"] + summary["set_aside"], len(lines))
        self.assertLessEqual({"calls", "arguments", "command", "variables"}, set(seen))

    def test_words_are_those_of_the_code(self):
        machine = (ROOT / "src/report/compare_machine.c").read_text()
        kinds = (ROOT / "src/compare/differences.h").read_text()
        self.assertEqual(set(re.findall(r'X\([A-Z]+, "(\w+)", ', kinds)), documented("Kinds"))
        self.assertEqual(set(re.findall(r'X\([A-Z]+, "(\w+)"\)', kinds)) - {"edited"}, documented("What differs"))
        self.assertEqual(set(re.findall(r'\[TC_ASIDE_\w+\] = "([\w ]+)"', machine)), documented("What is set aside"))
        self.assertEqual(keys_of(machine, "difference_to_json"), documented("A difference"))
        summary = keys_of(machine, "tc_compare_summary_to_json") | keys_of(machine, "scripts_to_json")
        self.assertEqual(summary, documented("Summary"))


class WithTorch(Case):
    def trace(self, name, *arguments):
        script, *arguments = arguments
        subprocess.run([BIN / "traincheck-collect", "-q", "--python", PYTHON, "-o", self.work / name,
                        ROOT / "examples" / "compare" / script, "--epochs", "1", *arguments],
                       check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=120, env={**os.environ, "OMP_NUM_THREADS": "1"})
        return self.work / name

    def test_a_call_that_was_dropped(self):
        if not PYTHON:
            self.skipTest("no Python with torch is given")
        before, again = self.trace("before", "train.py"), self.trace("again", "train.py")
        self.assertTrue(libtraincheck.compare(again, before).equal)
        first = libtraincheck.compare(self.trace("after", "train_refactored.py"), before).first
        self.assertEqual((first.kind, first.what, first.call_reference, first.step),
                         ("calls", "missing", "torch.nn.utils.clip_grad_norm_", 0))
        self.assertRegex(first.at_reference, r"train\.py:\d+$")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--python")
    parser.add_argument("--cc")  # is of its neighbours
    parser.add_argument("tests", nargs="*")
    options = parser.parse_args()
    BIN = options.bin.resolve()
    PYTHON = options.python and warm_python(options.python, ["sklearn.datasets"], OMP_NUM_THREADS="1")
    unittest.main(argv=[sys.argv[0], *options.tests])
