# SPDX-License-Identifier: Apache-2.0
"""Pipelines and bugs: each script parses, and is known to its table."""

import ast
import collections
import difflib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

BENCHMARKS = pathlib.Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
import harness  # noqa: E402

NO_PIPELINES = {"options", "run"}


class Pipelines(unittest.TestCase):
    def scripts(self):
        return {p.stem: p for p in harness.PIPELINES.glob("*.py") if p.stem not in NO_PIPELINES}

    def test_each_script_has_an_entry(self):
        self.assertEqual(set(harness.pipelines()), set(self.scripts()))

    def test_each_script_parses_and_has_the_four_options(self):
        for name, path in self.scripts().items():
            with self.subTest(name):
                calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
                given = [{k.arg for k in c.keywords} for c in calls if getattr(c.func, "id", "") == "options"]
                self.assertEqual(len(given), 1)
                self.assertLessEqual({"lr", "width", "steps"}, given[0])

    def test_the_table_of_the_readme_is_that_of_the_entries(self):
        sys.path.insert(0, str(harness.PIPELINES))
        import run

        self.assertTrue((harness.PIPELINES / "README.md").read_text().endswith(run.table(harness.pipelines()) + "\n"))

    def test_an_unknown_name_is_an_error(self):
        with self.assertRaisesRegex(harness.Failed, "no such pipeline: nonsense"):
            harness.pipelines(["nonsense"])


class Limits(unittest.TestCase):
    def test_past_the_limit_children_die_too(self):
        with tempfile.TemporaryDirectory() as folder:
            pid_file = pathlib.Path(folder) / "pid"
            with self.assertRaises(subprocess.TimeoutExpired):
                harness.run_limited(["sh", "-c", f"sleep 600 & echo $! > {pid_file}; wait"], 3)
            self.assert_ends(int(pid_file.read_text()))

    def assert_ends(self, pid):
        """It is gone, or a zombie that its new parent has yet to collect."""
        for _ in range(1000):
            try:
                stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
            except FileNotFoundError:
                return
            if stat.rpartition(")")[2].split()[0] in "ZX":
                return
            time.sleep(0.01)
        self.fail(f"{pid} still runs")

    def test_output_and_status_of_one_that_ends(self):
        p = harness.run_limited(["sh", "-c", "echo out; echo err >&2; exit 3"], 60)
        self.assertEqual((p.returncode, p.stdout, p.stderr), (3, "out\n", "err\n"))


class Bugs(unittest.TestCase):
    def setUp(self):
        self.folders = {p.parent.name: p.parent for p in (BENCHMARKS / "bugs").glob("*/bug.py")}

    def test_each_bug_has_its_pattern_and_its_row(self):
        expect = json.loads((BENCHMARKS / "bugs" / "expect.json").read_text())
        self.assertEqual(set(expect), set(self.folders))
        for pattern in expect.values():
            re.compile(pattern)
        readme = (BENCHMARKS / "bugs" / "README.md").read_text()
        for name in expect:
            self.assertIn(f"| `{name}` |", readme)

    def test_each_bug_has_all_variants(self):
        for case in harness.runner("detection").load_cases([BENCHMARKS / "bugs"], ""):
            with self.subTest(case.name):
                variants = harness.runner("detection").variants_of(case)
                self.assertEqual(set(variants), {"seed", "lr", "width", "steps", "other"})
                for text in variants.values():
                    ast.parse(text)

    def test_a_bug_is_one_to_four_lines(self):
        for name, folder in self.folders.items():
            with self.subTest(name):
                ref, bug = ((folder / f).read_text().splitlines() for f in ("ref.py", "bug.py"))
                changed = [line for line in difflib.ndiff(ref, bug) if line[0] in "+-"]
                self.assertIn(len(changed), range(1, 5))
                ast.parse("\n".join(bug))


class Broken(unittest.TestCase):
    """The broken script of a case that has a bug.diff."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)
        self.case = self.work / "some_set" / "bugs" / "case"
        self.case.mkdir(parents=True)

    def made(self, ref, diff):
        (self.case / "ref.py").write_bytes(ref)
        (self.case / "bug.diff").write_bytes(b"--- ref.py\n+++ bug.py\n" + diff)
        return harness.broken_script(self.case, self.work)

    def test_bytes_of_a_line_are_kept(self):
        self.assertEqual(self.made(b"a\r\nb", b"@@ -1,2 +1,2 @@\n-a\r\n+c\r\n b\n\\ No newline at end of file\n").read_bytes(), b"c\r\nb")

    def test_it_is_written_when_it_changes(self):
        script = self.made(b"a\n", b"@@ -1 +1 @@\n-a\n+b\n")
        self.assertEqual(script, (self.work / "bugs" / "some_set" / "case" / "bug.py").resolve())
        before = script.stat().st_mtime_ns
        self.assertEqual(harness.broken_script(self.case, self.work).stat().st_mtime_ns, before)
        self.assertEqual(self.made(b"a\n", b"@@ -1 +1 @@\n-a\n+c\n").read_text(), "c\n")

    def test_a_patch_that_does_not_apply_is_named(self):
        for diff in (b"@@ -1 +1 @@\n-b\n+a\n", b"nonsense\n"):
            with self.assertRaisesRegex(harness.Failed, "bugs/case/bug.diff: does not apply to ref.py"):
                self.made(b"a\n", diff)

    def test_what_names_the_cause(self):
        broken = self.made(b"a\nb\nc\nd\n", b"@@ -2 +2 @@\n-b\n+x\n")
        other = {"sentence": "step() is no longer called", "when": "", "at": "lib/other.py:2"}
        for finding, named in ((other, "no"), (other | {"at": "bug.py:4"}, "no"), (other | {"at": f"{self.work}/bug.py:2"}, "first"),
                               (other | {"healthy_at": "ref.py:2"}, "first"), (other | {"origin_at": "bug.py:2"}, "first"),
                               (other | {"told": [{"seen": "the teacher is trained"}]}, "first")):
            with self.subTest(finding):
                self.assertEqual(harness.how_named([finding], "teacher", self.case, broken), named)
                self.assertEqual(harness.how_named([other, finding], "teacher", self.case, broken),
                                 "no" if named == "no" else "later")
        self.assertEqual(harness.how_named([], "teacher", self.case, broken), "no")

    def test_a_pattern_that_matches_the_finding_of_another_bug_is_counted(self):
        rows = [{"case": "a", "expect": "teacher", "words": "the optimizer"}, {"case": "b", "expect": "optim", "words": "the teacher"},
                {"case": "c", "expect": "mask", "words": ""}]
        self.assertEqual(harness.by_chance(rows), (2, 4))

    def test_a_script_that_is_there_is_taken(self):
        (self.case / "bug.py").write_text("a\n")
        self.assertEqual(harness.broken_script(self.case, self.work), (self.case / "bug.py").resolve())


class Blind(unittest.TestCase):
    """The scripts of benchmarks/blind: none without its entry, none that cannot be run with other seeds and rates."""

    def setUp(self):
        self.blind = harness.runner("blind")
        self.sets = sorted(cases.parent for cases in (BENCHMARKS / "blind").glob("*/cases.json"))

    def scripts(self, part):
        return [script for folder in self.sets for script in self.blind.load(folder, part, "")]

    def test_each_script_has_an_entry(self):
        for folder in self.sets:
            with self.subTest(folder.name):
                names = [{s.name for s in self.blind.load(folder, part, "")} for part in ("bugs", "healthy")]
                self.assertEqual(names, [{p.parent.name for p in (folder / "bugs").glob("*/bug.diff")},
                                         {p.stem for p in (folder / "healthy").glob("*.py")}])

    def test_each_set_has_its_paragraph(self):
        index = (BENCHMARKS / "blind" / "README.md").read_text()
        self.assertEqual({f"### {folder.name}" for folder in self.sets}, set(re.findall(r"(?m)^### .*$", index)))

    def test_each_set_has_a_frozen_row_of_all_its_bugs(self):
        rows = re.findall(r"(?m)^\| (\w+) \| \S+ \| \S+ \| frozen[^|]*\| (\d+) \|", (BENCHMARKS / "blind" / "RESULTS.md").read_text())
        bugs = {folder.name: len(self.blind.load(folder, "bugs", "")) for folder in self.sets}
        self.assertEqual(bugs, {name: max(int(n) for other, n in rows if other == name) for name, _ in rows})

    def test_a_bug_is_a_few_lines_and_has_a_pattern(self):
        for case in self.scripts("bugs"):
            with self.subTest(case.name), tempfile.TemporaryDirectory() as work:
                lines = (case.folder / "bug.diff").read_text().splitlines()
                self.assertEqual(lines[:2], ["--- ref.py", "+++ bug.py"])
                most = 30 if case.entry.get("also_changed") else 9  # with harmless edits beside, as commits have
                self.assertIn(sum(line[0] in "+-" for line in lines[2:]), range(1, most + 1))
                bug = harness.broken_script(case.folder, work).read_text()
                ast.parse(bug)
                self.assertIn("EVIDENCE", bug)
                re.compile(case.expect)
                self.assertNotIn("bug\\.py", case.expect, "changed lines are those of bug.diff")

    def test_each_script_takes_another_seed_and_half_the_rate(self):
        kept = collections.Counter()  # sets -> scripts whose rate is not read, so that it is kept: README.md says how many
        for script in (*self.scripts("bugs"), *self.scripts("healthy")):
            with self.subTest(script.name):
                text = script.healthy.read_text()
                ast.parse(text)
                self.assertRegex(text, '"(--)?seed"')
                if script.arguments("other")[2:3] != ["--lr"]:
                    kept[script.healthy.relative_to(BENCHMARKS / "blind").parts[0]] += 1
        self.assertEqual(kept, {"seventh": 32, "eighth": 4, "fifteenth": 2})

    def test_only_what_was_not_learned_from_alarms(self):
        row = {"learned": ["default"], "alarms": {"default": ["a"], "second": ["b"], "other": ["self.lr is 0.1", "c"]}}
        self.assertEqual(self.blind.unseen_alarms(row), {"second": ["b"], "other": ["c"]})


class Places(unittest.TestCase):
    """Which lines a diff changes, and which a place names."""

    def changed(self, before, after, **options):
        with tempfile.TemporaryDirectory() as folder:
            files = pathlib.Path(folder) / "before.py", pathlib.Path(folder) / "after.py"
            for file, text in zip(files, (before, after)):
                file.write_text(text)
            return harness.changed_lines(*files, **options)

    def test_a_line_that_is_another_counts_on_both_sides(self):
        for near in (False, True):
            self.assertEqual(self.changed("a\nb\nc\n", "a\nx\nc\n", near=near), ({2}, {2}))

    def test_near_a_line_that_is_on_one_side_alone(self):
        before, after = "a\n\nb\nc\n\nd\n", "a\n\nb\n\nd\n"
        self.assertEqual(self.changed(before, after), ({4}, set()))
        self.assertEqual(self.changed(before, after, near=True), ({4}, {3, 5}))
        self.assertEqual(self.changed(after, before, near=True), ({3, 5}, {4}))
        self.assertEqual(self.changed("a\nb\n", "a\n", near=True), ({2}, {1}))

    def test_a_place_names_a_line_of_its_script_alone(self):
        script = pathlib.Path("/somewhere/train.py")
        for at, line in (("train.py:7", 7), ("src/train.py:7", 7), ("other_train.py:7", None), ("train.py", None), ("", None), (None, None)):
            self.assertEqual(harness.line_of(at, script), line)


class Diagnosis(unittest.TestCase):
    """What benchmarks/diagnosis takes from a screen, a report and the answers of readers."""

    def setUp(self):
        self.diagnosis = harness.runner("diagnosis")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)

    def write(self, name, *objects):
        (self.work / name).write_text("".join(json.dumps(o) + "\n" for o in objects))
        return self.work / name

    def test_a_group_is_a_finding_until_a_build_writes_findings(self):
        violation = {"expected": "a", "seen": "b", "at": "train.py:3"}
        self.write("violations.jsonl", {**violation, "head": True, "group_size": 2}, {**violation, "head": True, "setting": True}, violation)
        said, is_told = self.diagnosis.findings(self.work)
        self.assertEqual(([(f["kind"], f["at"], f["n_violations"]) for f in said], is_told),
                         ([("violation", "train.py:3", 2), ("setting", "train.py:3", 1)], False))
        self.write("findings.jsonl", {"kind": "departure", "sentence": "c", "at": ""})
        self.assertEqual(self.diagnosis.findings(self.work), ([{"kind": "departure", "sentence": "c", "at": ""}], True))

    def test_a_place_hits_the_lines_of_its_own_script(self):
        scripts = [pathlib.Path("healthy/train.py"), pathlib.Path("broken/train.py")]
        for finding, hit in (({"at": "train.py:3"}, True), ({"at": "train.py:2"}, False), ({"at": "", "healthy_at": "train.py:2"}, True),
                             ({"healthy_at": "train.py:3"}, False), ({"at": "train.py:9", "origin_at": "train.py:3"}, True), ({}, False)):
            self.assertEqual(harness.names_change(finding, scripts, ({2}, {3})), hit, finding)

    def test_a_line_that_is_cut(self):
        for line, cut in (("Tensor.mul(), ...", False), ("x[..., 0]", False), ("the receiv…", True), ("the receiv...", True), ("...iver", True),
                          ("a" * 80, False), ("a" * 81, True)):
            self.assertEqual(self.diagnosis.is_cut(line), cut, line)

    def test_a_pair_names_its_lines(self):
        (self.work / "bugs" / "one").mkdir(parents=True)
        (self.work / "bugs" / "one" / "ref.py").write_text("import os, torch.nn\nfrom sklearn import svm\n")
        with self.assertRaisesRegex(harness.Failed, "one lacks lines_before or lines_after"):
            self.diagnosis.Case(self.work, "one", {"kind": "loss"}, True)
        case = self.diagnosis.Case(self.work, "one", {"lines_before": [4, 5], "lines_after": [], "kind": "loss"}, True)
        self.assertEqual((case.changed(()), case.kind, case.packages()), (({4, 5}, set()), "loss", {"torch", "sklearn"}))
        with self.assertRaisesRegex(harness.Failed, "no cases there: cases.json: No such file"):
            self.diagnosis.load(self.work, True, "")

    def test_shares_of_readers(self):
        answers = self.write("answers.json", {"a": {"fix": "", "would_know": "yes"}, "b": {"fix": "", "would_know": "yes"},
                                              "c": {"fix": "", "would_know": "no"}, "d": {"fix": "", "would_know": "where"}})
        row = self.diagnosis.grades(answers, self.write("verdicts.json", {"a": True, "b": False, "c": False, "d": True})).splitlines()[2]
        self.assertEqual(row, "| 4 | 2 (50 %) | 1 (25 %) | 0 (0 %) | 1 (25 %) | 2 (50 %) | 1 (50 %) |")
        for verdicts, said in (({"a": True}, "b has a verdict or an answer, not both"), ({n: 1 for n in "abcd"}, "true or false")):
            with self.assertRaisesRegex(harness.Failed, said):
                self.diagnosis.grades(answers, self.write("verdicts.json", verdicts))
        with self.assertRaisesRegex(harness.Failed, "would_know is none of yes, where, something, no"):
            self.diagnosis.grades(self.write("answers.json", {"a": {"would_know": "maybe"}}), None)


if __name__ == "__main__":
    unittest.main()
