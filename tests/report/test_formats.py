#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reports for other programs, read by parsers that others wrote."""

import json
import pathlib
import re
import unittest
import urllib.parse

from junitparser import JUnitXml
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_metrics
from prometheus_client.parser import text_string_to_metric_families as parse_textfile
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as Sarif

import runs

HOSTILE = 'a <b> & "c"%0A,:\u2028\x01\n]]>'


def in_a_log(text):
    return re.sub("[\u2028\x01]", "?", text)


class Formats(runs.Case):
    FORMATS = "sarif,junit,chrome"

    def setUp(self):
        super().setUp()
        self.write_ranks(["zero_grad"], ["frozen"])
        for kind in ("run", "bad"):
            runs.write_run(self.work / f"{kind}2", name=HOSTILE, at=f"{HOSTILE}.py",
                           broken=self.BROKEN if kind == "bad" else ())
        runs.run("infer", "-q", "run2", "-o", "bad2.jsonl", cwd=self.work, code=0)

    def each(self, *args):
        """Healthy, broken, of two ranks, full of odd text; with one violation suppressed where there are any."""
        for trace, code in (("run", 0), ("bad", 1), ("ranks", 1), ("bad2", 1)):
            report, _ = self.check("--format", self.FORMATS, *args, trace=trace, code=code)
            violations = runs.json_lines(report / "violations.jsonl")
            if violations:
                (self.work / "known").write_text(f"{violations[-1]['id']} {HOSTILE.splitlines()[0]}\n", encoding="utf-8")
                report, _ = self.check("--format", self.FORMATS, "--suppress", "known", *args, trace=trace, code=code)
                violations = runs.json_lines(report / "violations.jsonl")
            summary = json.loads((report / "violations_summary.json").read_text(encoding="utf-8"))
            with self.subTest(trace=trace):
                yield report, violations, summary

    def test_sarif(self):
        for report, violations, summary in self.each():
            text = (report / "report.sarif").read_text(encoding="utf-8")
            Sarif.model_validate_json(text)
            run = json.loads(text)["runs"][0]
            rules = run["tool"]["driver"]["rules"]
            active = [r for r in run["results"] if "suppressions" not in r]
            findings = summary["findings"]
            self.assertEqual([r["properties"] for r in active], findings)
            self.assertEqual(len(run["results"]) - len(active), summary["counts"]["suppressed"])
            self.assertEqual(sum(r["level"] == "error" for r in active), summary["counts"]["findings"])
            self.assertEqual({r["level"] for r in run["results"] if r not in active}, {"warning"} if summary["suppressed"] else set())
            for result in run["results"]:
                self.assertEqual(rules[result["ruleIndex"]]["id"], result["ruleId"])
            at = {urllib.parse.unquote(r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]) + ":"
                  + str(r["locations"][0]["physicalLocation"]["region"]["startLine"]) for r in active}
            self.assertEqual(at, {f["at"] for f in findings})

    def test_changed_settings_are_notes(self):
        self.write_settings()
        for trace, levels in ("rate", ["note"]), ("both", ["error", "note"]):
            report, p = self.check("--format", "sarif,github", trace=trace)
            results = json.loads((report / "report.sarif").read_text())["runs"][0]["results"]
            self.assertEqual([r["level"] for r in results], levels)
            self.assertEqual([r["properties"]["kind"] == "setting" for r in results], [level == "note" for level in levels])
            lines = [x for x in p.stdout.split("\n") if x.startswith("::")]
            self.assertEqual([x.split(" ")[0] for x in lines], [{"note": "::notice"}.get(level, "::error") for level in levels])

    def test_fingerprints_do_not_depend_on_the_run(self):
        def prints(trace):
            report, _ = self.check("--format", "sarif", trace=trace)
            results = json.loads((report / "report.sarif").read_text())["runs"][0]["results"]
            return sorted(r["partialFingerprints"]["invariant/v1"] for r in results)
        runs.write_run(self.work / "later", broken=self.BROKEN, steps=9)
        self.assertEqual(prints("bad"), prints("later"))
        self.assertEqual(len(set(prints("bad"))), len(prints("bad")))
        self.assertGreater(len(prints("bad")), 0)

    def test_sarif_location_is_relative_to_the_working_folder(self):
        runs.write_run(self.work / "here", broken=self.BROKEN, at=str(self.work / "src" / "a b.py"))
        runs.write_run(self.work / "there", broken=self.BROKEN, at="/elsewhere/x.py")
        for trace, uri in (("here", "src/a%20b.py"), ("there", "file:///elsewhere/x.py")):
            report, _ = self.check("--format", "sarif", trace=trace)
            result = json.loads((report / "report.sarif").read_text())["runs"][0]["results"][0]
            self.assertEqual(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], uri)

    def test_junit(self):
        for report, violations, summary in self.each():
            counts = summary["counts"]
            suite = next(iter(JUnitXml.fromfile(str(report / "junit.xml"))))
            self.assertEqual((suite.tests, suite.failures, suite.errors), (counts["invariants"], counts["findings"], 0))
            self.assertEqual(suite.skipped, counts["not_triggered"] + counts["unchecked"] + counts["suppressed"]
                             + counts["failed"] - counts["findings"])
            cases = list(suite)
            self.assertEqual(len(cases), counts["invariants"])
            failed = {c.name.split(" ")[0]: c for c in cases if c.is_failure}
            self.assertEqual(set(failed), {v["id"] for v in violations if v["head"]})
            self.assertEqual(sum(c.is_skipped for c in cases), suite.skipped)
            for v in violations:
                if not v["head"]:
                    continue
                result = failed[v["id"]].result[0]
                self.assertEqual(result.message, v["seen"].replace("\x01", "\ufffd"))
                self.assertIn("expected:", result.text)

    def test_github(self):
        for trace in ("bad", "bad2"):
            report, p = self.check("--format", "github", trace=trace)
            heads = [v for v in runs.json_lines(report / "violations.jsonl") if v["head"]]
            lines = [x for x in p.stdout.split("\n") if x.startswith("::")]
            self.assertEqual(len(lines), len(heads))
            for line, v in zip(lines, heads):
                m = re.fullmatch(r"::error file=([^:,]*),line=(\d+),title=([^:,]*)::(.*)", line)
                self.assertTrue(m, line)
                file, number, title, text = map(urllib.parse.unquote, m.groups())
                self.assertEqual(f"{file}:{number}", in_a_log(v["at"]))
                self.assertTrue(title.startswith(f"TrainCheck: {in_a_log(v['seen'])}, from step "), title)
                self.assertTrue(text.startswith(f"Expected: {in_a_log(v['expected'])}\n"), text)
        _, p = self.check("--format", "github", trace="run", code=0)
        self.assertEqual(p.stdout, "")

    def test_github_and_json_do_not_mix(self):
        p = runs.run("check", "bad", "-i", "invariants.jsonl", "--json", "--format", "github", cwd=self.work, code=2)
        self.assertIn("both write to stdout", p.stderr)

    def test_chrome(self):
        """By the Trace Event Format: what Perfetto asks of an event of each phase."""
        for report, violations, summary in self.each():
            trace = json.loads((report / "chrome_trace.json").read_text(encoding="utf-8"))
            events = trace["traceEvents"]
            for e in events:
                self.assertIsInstance(e["pid"], int)
                self.assertIsInstance(e["tid"], int)
                self.assertIsInstance(e["name"], str)
                self.assertIn(e["ph"], "MXi")
                if e["ph"] != "M":
                    self.assertGreaterEqual(e["ts"], 0)
                if e["ph"] == "X":
                    self.assertGreaterEqual(e["dur"], 0)
                if e["ph"] == "i":
                    self.assertIn(e["s"], "gpt")
            calls = [e for e in events if e["ph"] == "X" and "fn" in e.get("args", {})]
            self.assertEqual(len(calls), summary["calls"])
            self.assertEqual({e["cat"] for e in calls}, {"step", "zero_grad", "backward", "forward"})
            self.assertEqual({e["args"]["id"] for e in events if e["ph"] == "i"}, {v["id"] for v in violations})
            self.assert_nested(e for e in events if e["ph"] == "X")
            names = [e["args"]["name"] for e in events if e["name"] == "process_name"]
            of_ranks = [name.partition("trace_")[0] for name in names]
            self.assertEqual(of_ranks, ["rank 0 ", "rank 1 "] if len(names) > 1 else [""])

    def assert_nested(self, events):
        """Slices of one row hold each other or lie apart: else a viewer drops them."""
        rows = {}
        for e in events:
            rows.setdefault((e["pid"], e["tid"]), []).append((round(e["ts"] * 1000), -round(e["dur"] * 1000)))
        for row in rows.values():
            ends = []
            for start, minus in sorted(row):
                while ends and ends[-1] <= start:
                    ends.pop()
                self.assertTrue(not ends or start - minus <= ends[-1])
                ends.append(start - minus)

    def test_metrics(self):
        for report, violations, summary in self.each("--metrics", "x.prom"):
            text = (self.work / "x.prom").read_text()
            for parse in (parse_metrics, parse_textfile):
                found = {f.name: f for f in parse(text)}
                invariants = {s.labels["verdict"]: s.value for s in found["traincheck_invariants"].samples}
                for verdict, n in invariants.items():
                    self.assertEqual(n, summary["counts"][verdict], verdict)
                relations = {s.labels["relation"]: s.value for s in found["traincheck_violations"].samples}
                self.assertEqual({k: v for k, v in relations.items() if v}, summary["failed_per_relation"])
                self.assertEqual("traincheck_first_violation_step" in found, bool(violations))
                runs = {s.labels["run"] for family in found.values() for s in family.samples}
                self.assertEqual(runs, {pathlib.Path(summary["traces"][0]).name})
                values = {name: family.samples[0].value for name, family in found.items()}
                self.assertEqual((values["traincheck_step"], values["traincheck_running"]), (5, 0))

    def test_unknown_format(self):
        p = runs.run("check", "bad", "-i", "invariants.jsonl", "--format", "sarif,html5", cwd=self.work, code=2)
        self.assertIn("'html5'", p.stderr)
        self.assertIn("sarif, junit, github, chrome", p.stderr)

    def test_equal_bytes(self):
        one, _ = self.check("--format", self.FORMATS, "--metrics", "1.prom", trace="ranks")
        before = {f.name: f.read_bytes() for f in one.iterdir()}
        self.check("--format", self.FORMATS, "--metrics", "1.prom", trace="ranks")
        for f in one.iterdir():
            self.assertEqual(f.read_bytes(), before[f.name], f.name)


if __name__ == "__main__":
    runs.main()
