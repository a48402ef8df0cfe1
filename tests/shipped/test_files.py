# SPDX-License-Identifier: Apache-2.0
"""The shipped sets: what they say of themselves is so, and every one of their invariants is understood."""

import json
import pathlib
import re
import subprocess
import tempfile
import unittest

import shipped
import harness
import sets

# Learned from and validated on so many of the pipelines that a set is for.
FEWEST = 6
CASES = sets.HERE.parent / "tests" / "relations"
MAX_BYTES = 1 << 20
PROCESS = {"type": "process", "schema": 1, "pid": 1, "role": "main"}  # says nothing of packages: any set may be meant


class Files(unittest.TestCase):
    def setUp(self):
        self.plan = sets.Plan()  # itself refuses a pipeline without a role, and one with two
        self.files = {name: harness.read_lines(sets.HERE / f"{name}.jsonl") for name in self.plan.sets}
        self.names = json.loads((sets.HERE / "sets.json").read_text())["rules"]
        self.heads = {name: harness.read_lines(sets.HERE / f"{name}.jsonl")[0] for name in self.names}
        self.rules = [line for name in self.names for line in harness.read_lines(sets.HERE / f"{name}.jsonl")[1:]]

    def test_every_file_is_one_of_the_sets(self):
        self.assertEqual({p.stem for p in sets.HERE.glob("*.jsonl")}, {*self.names, *self.plan.sets})

    def test_headers_say_whom_a_set_is_for_and_what_it_was_learned_from(self):
        for name, (header, *_) in self.files.items():
            with self.subTest(name):
                self.assertEqual(header["for"], self.plan.sets[name])
                self.assertEqual(header["from"], sorted(self.plan.roles["learn"]))
                self.assertIn("torch", header["learned_with"])

    def test_enough_pipelines_stand_behind_each(self):
        for name in self.files:
            for role in ("learn", "validate"):
                with self.subTest(name, role=role):
                    self.assertGreaterEqual(len(self.plan.members(name, role)), FEWEST)

    def test_no_invariant_is_in_two_sets_or_of_one_pipeline(self):
        lines = [line for _, *rest in self.files.values() for line in rest]
        self.assertEqual(len({sets.identity(line) for line in lines}), len(lines))
        for line in lines:
            self.assertGreaterEqual(line["evidence"]["pipelines"], 2, line["text"])

    def test_each_rule_is_told_of_and_has_healthy_scripts_that_come_close(self):
        readme = (sets.HERE / "README.md").read_text().partition(sets.MARK)[0]
        for form in sorted({line["relation"] for line in self.rules}):
            with self.subTest(form):
                self.assertRegex(readme, rf"\n\| `{form}` \| \S.*\|")
                cases = [f.read_text() for f in (CASES / form.replace("/", "_")).glob("*/case.py")]
                close = [len(re.findall(r"(?m)^def fine\w*\(", text)) for text in cases if "\nRULE = True\n" in text]
                self.assertGreaterEqual(sum(close), 3)

    def test_a_rule_holds_in_every_context_and_is_learned_of_none(self):
        runs = {"rules": {"packages": ["torch"]}, "deepspeed": {"packages": ["deepspeed"]}}
        for name, head in self.heads.items():
            self.assertEqual(head["for"], runs.get(name, {"packages": ["torch"], "met": True}))
        for line in self.rules:
            self.assertEqual(set(line), {"relation", "params", "text"}, line["text"])

    def test_files_are_small(self):
        for name in self.files:
            self.assertLess((sets.HERE / f"{name}.jsonl").stat().st_size, MAX_BYTES)

    def test_the_readme_has_the_counts(self):
        readme = (sets.HERE / "README.md").read_text().partition(sets.MARK)[2]
        for name, (_, *lines) in self.files.items():
            self.assertIn(f"### {name}.jsonl\n\n* {len(lines)} invariants: ", readme)
        self.assertEqual(readme.count(": 0 violations"), len(self.files))

    def test_this_version_understands_all(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder) / "trace_1.jsonl"
            trace.write_text(json.dumps(PROCESS) + "\n" + json.dumps({"type": "end", "t": 1, "events": 0, "dropped": 0}) + "\n")
            p = subprocess.run([self.bin / "traincheck-check", trace, "-i", "@all", "-o", f"{folder}/report"],
                               capture_output=True, text=True)
            summary = json.loads((pathlib.Path(folder) / "report/violations_summary.json").read_text())
        self.assertEqual(p.returncode, 3, p.stderr)  # nothing was judged: the trace holds no call
        self.assertEqual([s["name"] for s in summary["sets"] if s["chosen"]], [f"@{n}" for n in sorted([*self.names, *self.files])])
        self.assertEqual(summary["counts"]["invariants"], len(self.rules) + sum(len(lines) - 1 for lines in self.files.values()))
        self.assertEqual(summary["counts"]["unchecked"], 0)


if __name__ == "__main__":
    shipped.main(bin=Files)
