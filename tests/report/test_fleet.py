#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""traincheck-check --each: what is told of many runs is what a check of each says."""

import json

import runs

HOSTILE = 'x"><script>alert(1)</script>&%0A?#'
KEYS = {"findings", "failed", "passed", "not_triggered", "unchecked", "suppressed"}


class Case(runs.Case):
    """The report of fourteen runs in out/: two and one with a hostile name are broken, one is not there."""

    def setUp(self):
        super().setUp()
        for i in range(12):
            runs.write_run(self.work / f"many{i}", broken=["zero_grad"] if i in (3, 10) else (), steps=6 + i, argv=[f"src/train{i % 3}.py"])
        runs.write_run(self.work / HOSTILE, broken=["frozen"], at=f"{HOSTILE}.py", argv=[f"{HOSTILE}.py"])
        self.traces = [f"many{i}" for i in range(12)] + [HOSTILE, "nowhere"]
        self.printed = runs.run("check", *self.traces, "--each", "-i", "invariants.jsonl", "-o", "out", cwd=self.work, code=1)
        self.lines = runs.json_lines(self.work / "out" / "runs.jsonl")


class Fleet(Case):
    def test_a_line_is_what_a_check_of_the_run_says(self):
        self.assertEqual([line["run"] for line in self.lines], self.traces)
        for line in self.lines[:-1]:
            with self.subTest(line["run"]):
                p = runs.run("check", line["run"], "-i", "invariants.jsonl", "-o", "alone", "--overwrite", cwd=self.work)
                summary = json.loads((self.work / "alone" / "violations_summary.json").read_text())
                self.assertEqual(line["status"], p.returncode)
                self.assertEqual({key: line[key] for key in KEYS}, {key: summary["counts"][key] for key in KEYS})
                self.assertEqual((line["steps"], line["damaged"], line["exit"]), (summary["windows"], False, 0))
                first = summary["findings"][0] if summary["findings"] else None
                self.assertEqual(line.get("first"), first and {key: first[key] for key in line["first"]})
                self.assertEqual(line["verdict"], "failed" if first else "passed")
                for name in ("violations.jsonl", "findings.jsonl"):
                    self.assertEqual((self.work / "alone" / name).read_bytes(), (self.work / "out" / line["reports"] / name).read_bytes())
        self.assertEqual((self.lines[-1]["verdict"], self.lines[-1]["status"]), ("unread", 2))
        self.assertEqual({line["script"] for line in self.lines[:12]}, {"train0.py", "train1.py", "train2.py"})

    def test_the_result_does_not_depend_on_threads(self):
        for jobs in (1, 4):
            p = runs.run("check", *self.traces, "--each", "-i", "invariants.jsonl", "-o", "out", "-j", jobs, cwd=self.work, code=1)
            self.assertEqual((p.stdout, runs.json_lines(self.work / "out" / "runs.jsonl")), (self.printed.stdout, self.lines))

    def test_names_steer_nothing(self):
        page = (self.work / "out" / "index.html").read_text()
        self.assertEqual(page.count("<script"), 1)
        self.assertNotRegex(self.printed.stdout, "[\x00-\x09\x0b-\x1f]")
        self.assertTrue((self.work / "out" / self.lines[12]["reports"] / "report.html").exists())


if __name__ == "__main__":
    runs.main()
