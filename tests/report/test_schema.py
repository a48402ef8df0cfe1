#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/violation-format.md is the contract: whatever is written stands in it."""

import json
import re
import unittest

import runs

DOC = (runs.ROOT / "docs" / "violation-format.md").read_text()


def documented(title):
    """The keys in the first columns of the tables of a section."""
    section = re.split(r"^## ", DOC, flags=re.M)
    text = next(s for s in section if s.startswith(title))
    return {key for row in re.findall(r"^\| (.*?) \|", text, flags=re.M) for key in re.findall(r"`([\w-]+)`", row)}


def keys(value):
    """Of an object and of the objects in its lists."""
    found = set(value)
    for item in value.values():
        for x in item if isinstance(item, list) else []:
            if isinstance(x, dict):
                found |= keys(x)
    return found


class Schema(runs.Case):
    def setUp(self):
        super().setUp()
        self.write_ranks(["zero_grad"], ["frozen"])

    def test_violations(self):
        want = documented("A violation") | {"call", "at"}
        for trace in ("bad", "ranks"):
            report, _ = self.check(trace=trace)
            violations = runs.json_lines(report / "violations.jsonl")
            self.assertGreater(len(violations), 1)
            for v in violations:
                inner = {k: x for k, x in v.items() if k not in ("params", "when")}
                self.assertEqual(keys(inner) - want, set(), v["id"])
                for key in ("id", "relation", "expected", "seen", "hint", "count", "learned", "group", "head", "trace"):
                    self.assertIn(key, v)
                self.assertEqual("group_size" in v, v["head"])

    def test_heads_come_first(self):
        report, _ = self.check()
        violations = runs.json_lines(report / "violations.jsonl")
        heads = [v["head"] for v in violations]
        self.assertEqual(heads, sorted(heads, reverse=True))
        groups = [v["group"] for v in violations if v["head"]]
        self.assertEqual(groups, list(range(1, len(groups) + 1)))
        for v in violations:
            if v["head"]:
                self.assertEqual(v["group_size"], sum(x["group"] == v["group"] for x in violations))

    def test_a_report_that_cannot_be_written_keeps_none_back(self):
        (self.work / "bad.report" / "report.html").mkdir(parents=True)
        report, p = self.check("--overwrite", "--format", "junit", "--metrics", "x.prom", code=2)
        self.assertRegex(p.stderr, r"error: bad\.report/report\.html: .+")
        self.assertTrue(runs.json_lines(report / "violations.jsonl"))
        self.assertTrue((report / "junit.xml").read_text())
        self.assertTrue((self.work / "x.prom").read_text())

    def test_logs(self):
        words = set(re.findall(r"`(\w+)`", next(s for s in re.split(r"^## ", DOC, flags=re.M) if s.startswith("Logs"))))
        report, _ = self.check()
        n = 0
        for verdict in ("failed", "passed", "not_triggered", "unchecked", "suppressed"):
            for line in runs.json_lines(report / f"{verdict}.log"):
                self.assertEqual(set(line) - words, set())
                n += 1
        summary = json.loads((report / "violations_summary.json").read_text())
        self.assertEqual(n, summary["counts"]["invariants"])

    def test_summary(self):
        want = documented("Summary")
        row = {k for line in DOC.splitlines() if line.startswith("| `") for k in re.findall(r"`([\w-]+)`", line)}
        for trace in ("bad", "ranks"):
            report, _ = self.check(trace=trace)
            summary = json.loads((report / "violations_summary.json").read_text())
            self.assertEqual(set(summary) - want, set())
            self.assertEqual(set(summary["counts"]) - row, set())
            for group in summary["groups"]:
                self.assertEqual(set(group) - row, set())
            self.assertEqual(summary["schema"], int(re.search(r"schema (\d+)", DOC)[1]))
            self.assertEqual(len(summary["groups"]), summary["counts"]["groups"])
            told = sum(1 + len(g["followers"]) for g in summary["groups"])
            self.assertEqual(told, summary["counts"]["failed"])

    def test_ranks(self):
        report, _ = self.check(trace="ranks")
        ranks = {v["expected"]: v["ranks"] for v in runs.json_lines(report / "violations.jsonl")}
        self.assertEqual([r for expected, r in ranks.items() if "was cleared" in expected], [[0]])
        self.assertIn([1], ranks.values())


if __name__ == "__main__":
    runs.main()
