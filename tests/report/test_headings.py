# SPDX-License-Identifier: Apache-2.0
"""Facts below headings: what a reader makes of them, and of files that were written without.

usage: test_headings.py --bin BUILD/bin [TEST...]
"""

import json
import subprocess

import runs
import invariant_file
from trace_writer import Trace


class Headings(runs.Case):
    def setUp(self):
        super().setUp()
        for name in ("a", "b"):
            self.write(name)
        runs.run("infer", "-q", "--specific", "a", "b", "-o", "own.jsonl", cwd=self.work, code=0)

    def write(self, name, rate=0.1, exact=True, **trace):
        t = Trace(self.work / name, **trace)
        model = t.net("w")
        optimizer = t.optimizer(model)
        for i in range(6):
            t.zero_grad(optimizer)
            t.forward(model)
            t.backward(model)
            t.op("f", args={"rate": rate, "exact": exact, "mode": "mean"}, at="train.py:20")
            if i % 2:
                t.op("f", args={"rate": rate, "exact": exact, "mode": "mean", "weight": "class"}, at="train.py:21")
            t.step(optimizer)
            t.cut()
        t.end()

    def lines(self, name="own.jsonl"):
        return (self.work / name).read_text().splitlines()

    def write_lines(self, name, lines):
        (self.work / name).write_text("".join(f"{line}\n" for line in lines))

    def check(self, trace, invariants, code):
        return runs.run("check", trace, "-i", invariants, "-o", "report", "--overwrite", cwd=self.work, code=code)

    def judged(self, trace, invariants):
        self.check(trace, invariants, 1)
        return [(self.work / "report" / f"{name}").read_text() for name in ("violations.jsonl", "passed.log", "not_triggered.log")]

    def as_schema_4(self):
        """The same invariants, each in a line of its own."""
        header, *others = invariant_file.read(self.work / "own.jsonl")
        header["schema"] = 4
        return [json.dumps(x, separators=(",", ":")) for x in (header, *others)]

    def headings(self, lines):
        return [i for i, line in enumerate(lines) if "subject" in (x := json.loads(line)) and "attribute" not in x]

    def test_facts_of_one_subject_stand_below_one_line(self):
        lines = self.lines()
        headings = self.headings(lines)
        subjects = [json.dumps({k: v for k, v in json.loads(lines[i]).items() if k not in ("needs", "evidence")}) for i in headings]
        self.assertGreater(len(subjects), 3)
        self.assertEqual(len(subjects), len(set(subjects)))
        self.assertLess(sum(map(len, lines[1:])), sum(map(len, self.as_schema_4()[1:])))

    def test_a_file_without_headings_is_judged_alike(self):
        self.write_lines("before.jsonl", self.as_schema_4())
        self.assertEqual(self.headings(self.lines("before.jsonl")), [])
        self.write("other", rate=0.2)
        self.assertEqual(self.judged("other", "before.jsonl"), self.judged("other", "own.jsonl"))
        text = runs.run("infer", "--diff", "before.jsonl", "own.jsonl", cwd=self.work, code=0).stdout
        self.assertRegex(text, r"^\d+ invariants as they were, 0 with another value, 0 new, 0 gone\n$")

    def test_an_accept_writes_headings(self):
        self.write_lines("before.jsonl", self.as_schema_4())
        self.write("other", rate=0.2)
        for name in ("before.jsonl", "own.jsonl"):
            self.check("other", name, 1)
            runs.run("check", "other", "-i", name, "-o", "report", "--overwrite", "--accept", cwd=self.work, code=0)
        self.assertEqual(self.lines("before.jsonl"), self.lines("own.jsonl"))
        self.assertEqual(json.loads(self.lines()[0])["schema"], 5)
        self.assertGreater(len(self.headings(self.lines())), 3)

    def test_a_line_says_what_its_heading_does_not(self):
        """Calls with another count, and facts that need more of a trace, among those that do not."""
        of_f = [x for x in invariant_file.read(self.work / "own.jsonl") if "relation" in x and x["params"][0].get("fn") == "f"]
        self.assertGreater(len({json.dumps(x["evidence"]) for x in of_f}), 1)
        lines = self.lines()
        first = self.headings(lines)[0]
        heading, line = json.loads(lines[first]), json.loads(lines[first + 1])
        heading["needs"] = ["content"]
        whole = list(invariant_file.whole([json.dumps(heading), json.dumps(line), json.dumps({**line, "needs": []})]))
        self.assertEqual([x.get("needs") for x in whole], [["content"], None])
        self.write_lines("needs.jsonl", [lines[0], json.dumps(heading), json.dumps({**line, "needs": []})])
        self.write("bare", content="off")
        self.check("bare", "needs.jsonl", 0)
        self.write_lines("needs.jsonl", [lines[0], json.dumps(heading), json.dumps(line)])
        self.assertIn("1 unchecked", self.check("bare", "needs.jsonl", 3).stderr)

    def test_unknown_members_stay(self):
        lines = self.lines()
        first = self.headings(lines)[0]
        lines[first + 1] = json.dumps({**json.loads(lines[first + 1]), "owner": "vision"})
        self.write_lines("own.jsonl", lines)
        self.write("other", rate=0.2)
        runs.run("check", "other", "-i", "own.jsonl", "-o", "report", "--accept", cwd=self.work, code=0)
        self.assertEqual(sum(x.get("owner") == "vision" for x in invariant_file.read(self.work / "own.jsonl")), 1)

    def test_files_can_be_concatenated(self):
        half = self.headings(self.lines())[3]
        for name, lines in (("one", self.lines()[:half]), ("two", [self.lines()[0], *self.lines()[half:]])):
            self.write_lines(name, lines)
        self.write_lines("both", [*self.lines("two"), *self.lines("one")])
        self.write("other", rate=0.2)
        counts = [self.check("other", name, 1).stderr.splitlines()[-2] for name in ("both", "own.jsonl")]
        self.assertEqual(counts[0], counts[1])

    def test_a_line_in_the_wrong_place_is_an_error(self):
        lines = self.lines()
        second = self.headings(lines)[1]
        cases = (("no.jsonl", [lines[0], lines[second + 1]], r"no.jsonl:2: .*no line above has the \"subject\""),
                 ("lost.jsonl", lines[:second] + lines[second + 1:], rf"lost.jsonl:{second + 1}: \S+ is no id of the subject above it"),
                 ("new.jsonl", [*lines, lines[0], lines[second + 1]], r"no line above has the \"subject\""))
        for name, text, why in cases:
            self.write_lines(name, text)
            self.assertRegex(self.check("a", name, 2).stderr, why)

    def test_a_line_that_is_taken_out_is_all_that_goes(self):
        lines = self.lines()
        of_rate = [line for line in lines if '"operand":"args.rate"' in line]
        self.write_lines("less.jsonl", [line for line in lines if line not in of_rate])
        self.assertGreater(len(of_rate), 0)
        self.write("other", rate=0.2)
        self.check("other", "own.jsonl", 1)
        self.check("other", "less.jsonl", 0)

    def test_git_shows_few_lines_of_a_small_change(self):
        (self.work / "before.jsonl").write_text((self.work / "own.jsonl").read_text())
        self.write("other", exact=False)
        self.check("other", "own.jsonl", 1)
        n = len((self.work / "report" / "violations.jsonl").read_text().splitlines())
        runs.run("check", "other", "-i", "own.jsonl", "-o", "report", "--overwrite", "--accept", cwd=self.work, code=0)
        diff = subprocess.run(["git", "diff", "--no-index", "--numstat", "before.jsonl", "own.jsonl"], cwd=self.work, capture_output=True, text=True,
                              check=False).stdout
        added, removed = map(int, diff.split()[:2])
        head = 1 + 1 + 1  # the header, the excerpt, the evidence
        self.assertLessEqual(added, n + head)
        self.assertLessEqual(removed, n + head + 1)  # two excerpts went


if __name__ == "__main__":
    runs.main()
