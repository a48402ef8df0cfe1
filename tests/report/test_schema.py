#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/violation-format.md is the contract: whatever is written stands in it."""

import json
import re
import unittest

import compared
import runs

LOSSES = [3, 2.5, 2, 1.7, 1.5, 1.2]
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

    def write_departure(self):
        """departs, whose line 4 is gone, and what was learned of two healthy runs, with their excerpts."""
        for name in "healthy", "healthy_too":
            compared.write(self.work / name, LOSSES)
        script = compared.SCRIPT.replace("    optimizer.zero_grad()\n", "")
        compared.write(self.work / "departs", LOSSES, zero_grad=None, script=script, lines=(4, 5, 6))
        runs.run("infer", "-q", "--specific", "healthy", "healthy_too", "-o", "departs.jsonl", cwd=self.work, code=0)

    def write_setting(self):
        """argument, whose line 4 gives the number of line 2, which is another."""
        for name, momentum in ("usual", 0.5), ("usual_too", 0.5), ("argument", 0.25):
            script = compared.SCRIPT.replace("torch.manual_seed(0)", f"momentum = {momentum}")
            compared.write(self.work / name, LOSSES, more=[("torch.rate", 4, {"momentum": momentum})], zero_grad=None,
                           script=script.replace("optimizer.zero_grad()", "rate(momentum)"))
        runs.run("infer", "-q", "--specific", "usual", "usual_too", "-o", "argument.jsonl", cwd=self.work, code=0)

    def reports(self):
        """Of each kind of run its report: violations that lead, also on ranks, and a departure."""
        self.write_departure()
        for trace in ("bad", "ranks", "departs"):
            yield trace, self.check(trace=trace)[0]

    def test_findings(self):
        top, met = documented("A finding"), set()
        want = top | {"id", "seen", "sign", "line", "text"}  # of `told` and of `lines`
        self.write_setting()
        for trace, report in [*self.reports(), ("argument", self.check(trace="argument")[0])]:
            findings = runs.json_lines(report / "findings.jsonl")
            violations = {v["id"]: v for v in runs.json_lines(report / "violations.jsonl")}
            self.assertEqual([f["finding"] for f in findings], list(range(1, len(findings) + 1)))
            self.assertEqual(sorted(i for f in findings for i in f["violations"]), sorted(violations))
            for f in findings:
                self.assertEqual(set(f) - top, set(), f)
                self.assertEqual(keys(f) - want, set(), f)
                met |= keys(f)
                for key in ("kind", "sentence", "at", "when", "step", "trace", "told"):
                    self.assertIn(key, f)
                self.assertEqual(f["n_violations"], len(f["violations"]))
                self.assertEqual({violations[i]["finding"] for i in f["violations"]}, {f["finding"]})
                for told in f["told"]:
                    self.assertEqual(told, {key: violations[told["id"]][key] for key in ("id", "seen", "count")})
                self.assertEqual("hint" in f, "healthy_run" not in f)
            kinds = {"departs": ["departure"], "argument": ["setting"]}.get(trace)
            self.assertEqual([f["kind"] for f in findings], kinds or ["violation"] * len(findings))
        self.assertEqual(want - met, set())

    def test_violations(self):
        want = documented("A violation") | {"call", "at"}
        for trace, report in self.reports():
            violations = runs.json_lines(report / "violations.jsonl")
            self.assertGreater(len(violations), trace != "departs")
            for v in violations:
                inner = {k: x for k, x in v.items() if k not in ("params", "when")}
                self.assertEqual(keys(inner) - want, set(), v["id"])
                for key in ("id", "relation", "expected", "seen", "hint", "count", "learned", "finding", "head", "trace"):
                    self.assertIn(key, v)

    def test_the_first_of_each_finding_come_first(self):
        report, _ = self.check()
        violations = runs.json_lines(report / "violations.jsonl")
        heads = [v["head"] for v in violations]
        self.assertEqual(heads, sorted(heads, reverse=True))
        findings = runs.json_lines(report / "findings.jsonl")
        self.assertEqual([v["id"] for v in violations if v["head"]], [f["violations"][0] for f in findings])
        self.assertEqual([v["finding"] for v in violations if v["head"]], [f["finding"] for f in findings])
        rest = [v["finding"] for v in violations if not v["head"]]
        self.assertGreater(len(rest), 0)
        self.assertEqual(rest, sorted(rest))

    def test_json_says_each_finding_before_its_violations(self):
        for trace, report in self.reports():
            p = runs.run("check", trace, "-i", self.work / f"{trace}.jsonl" if trace != "bad" else "invariants.jsonl",
                         "-o", "json", "--overwrite", "--json", cwd=self.work, code=1)
            lines = [json.loads(line) for line in p.stdout.splitlines()]
            findings = [x for x in lines if "sentence" in x]
            self.assertEqual(findings, runs.json_lines(report / "findings.jsonl"))
            want = [i for f in findings for i in [f["finding"], *f["violations"]]]
            self.assertEqual([x.get("id", x["finding"]) for x in lines], want)
            by_id = {v["id"]: v for v in runs.json_lines(report / "violations.jsonl")}
            self.assertEqual({x["id"]: x for x in lines if "id" in x}, by_id)

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
        for trace, report in self.reports():
            summary = json.loads((report / "violations_summary.json").read_text())
            self.assertEqual(set(summary) - want, set())
            self.assertEqual(set(summary["counts"]) - row, set())
            self.assertEqual(summary["schema"], int(re.search(r"schema (\d+)", DOC)[1]))
            self.assertEqual(summary["findings"], runs.json_lines(report / "findings.jsonl"))
            self.assertEqual(len(summary["findings"]), summary["counts"]["findings"])
            self.assertEqual(sum(f["n_violations"] for f in summary["findings"]), summary["counts"]["failed"])
            self.assertEqual(summary["first_step"], min(v["step"] for v in runs.json_lines(report / "violations.jsonl")))

    def test_ranks(self):
        report, _ = self.check(trace="ranks")
        ranks = {v["expected"]: v["ranks"] for v in runs.json_lines(report / "violations.jsonl")}
        self.assertEqual([r for expected, r in ranks.items() if "was cleared" in expected], [[0]])
        self.assertIn([1], ranks.values())


if __name__ == "__main__":
    runs.main()
