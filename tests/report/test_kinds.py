#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every report format says the same of every kind of invariant: learned, written by hand, shipped,
unknown to this version, and those of the Python tool, of each of its classes."""

import json
import re
import unittest
import xml.etree.ElementTree as ET

import compared
import runs

runs.sys.path.insert(0, str(runs.HERE.parent / "import"))
import python_traces as python  # noqa: E402

STRANGE = [
    {"relation": "Nobody/knows", "params": [{"call": "a.b"}], "when": [], "text": "of a later version"},
    {"relation": "EventContain/some", "params": [{"operand": "args.x", "is": 1}], "when": [], "text": "does not fit"},
]
HEADER = {"traincheck": "invariants", "schema": 1}


def python_run():
    """One trace and, of each class of the Python tool, an invariant that it breaks."""
    t = python.Trace()
    for pid, data in ((1, 1), (2, 2)):
        t.state("model.w", 0, {"data": data}, pid=pid, step=4)
        t.state("model.w", 900, {"data": 0}, pid=pid, step=4)
    t.call("m.outer", 10, 20)
    t.call("m.same", 30, 31, args=[1])
    t.call("m.same", 32, 33, args=[1])
    t.call("m.out", 40, 41, args=[python.tensor(shape=[2, 3])], kwargs={"most": {"int": 5}},
           returns=python.tensor(shape=[2, 5], lengths=[7]))
    t.call("m.late", 50, 51)
    result = lambda name, i: python.value("output_tensors", 0, [name, i], "m.out", False)  # noqa: E731
    return t, [
        python.invariant("ConsistencyRelation", python.var("data"), python.var("data"),
                         when=[[python.clause("consistent", "var_name")]]),
        python.invariant("APIContainRelation", python.api("m.outer"), python.api("m.inner")),
        python.invariant("FunctionCoverRelation", python.api("m.missing"), python.api("m.late")),
        python.invariant("FunctionLeadRelation", python.api("m.late"), python.api("m.missing")),
        python.invariant("DistinctArgumentRelation", python.api("m.same")),
        python.invariant("ConsistentOutputRelation", python.api("m.out"),
                         python.var("dtype", "torch.Tensor", const_value="torch.float16")),
        python.invariant("ConsistentInputOutputRelation",
                         python.value("input_tensors", 0, ["shape", 1], "m.out", True), python.api("m.out"),
                         result("shape", 1)),
        python.invariant("ThresholdRelation", python.value("most", None, None, "m.out", True),
                         python.api("m.out"), result("lengths", 0)),
    ]


class Kinds(runs.Case):
    FORMATS = "sarif,junit,chrome,github"

    def assert_reports_agree(self, trace, invariants, code=1):
        out = self.work / "out"
        p = runs.run("check", trace, "-i", invariants, "-o", out, "--format", self.FORMATS,
                     "--metrics", out / "metrics", cwd=self.work, code=code)
        violations = runs.json_lines(out / "violations.jsonl")
        ids = sorted(v["id"] for v in violations)
        log = json.loads((out / "report.sarif").read_text())["runs"][0]
        for r in log["results"]:
            self.assertEqual(log["tool"]["driver"]["rules"][r["ruleIndex"]]["id"], r["ruleId"])
        findings = runs.json_lines(out / "findings.jsonl")
        self.assertEqual([r["properties"] for r in log["results"]], findings)
        self.assertEqual(sorted(i for f in findings for i in f["violations"]), ids)
        self.assert_junit(ET.parse(out / "junit.xml").getroot(), findings)
        events = json.loads((out / "chrome_trace.json").read_text())["traceEvents"]
        self.assertEqual({e["args"]["id"] for e in events if e["ph"] == "i"}, set(ids))
        heads = [v for v in violations if v["head"]]
        self.assertEqual([v["id"] for v in heads], [f["violations"][0] for f in findings])
        levels = [{"setting": "notice", "remark": "warning"}.get(f["kind"], "error") for f in findings]
        self.assertEqual(re.findall("(?m)^::(\\w+) ", p.stdout), levels)
        self.assertEqual([r["level"] for r in log["results"]], [{"notice": "note"}.get(x, x) for x in levels])
        series = re.findall(r'traincheck_violations\{run="[^"]*",relation="(.*)"\} (\d+)', (out / "metrics").read_text())
        per_form = {relation: int(n) for relation, n in series}
        summary = json.loads((out / "violations_summary.json").read_text())
        self.assertEqual({k: n for k, n in per_form.items() if n}, summary["failed_per_relation"])
        self.assertEqual(sum(per_form.values()), len(ids))
        page = runs.page_data(out)
        self.assertEqual(sorted(page["invariants"][v["invariant"]]["id"] for v in page["violations"]), ids)
        self.assertEqual(len(page["findings"]), len(findings))
        for f, told in zip(findings, page["findings"]):
            same = set(f) - {"finding", "lines", "told", "violations", "healthy_lines"}
            self.assertEqual({key: told.get(key) for key in same}, {key: f[key] for key in same})
        return violations

    def assert_junit(self, root, findings):
        """The first violation of each finding failed; those that follow from it are skipped, and say from what."""
        cases = {c.get("name").split(" ")[0]: c for c in root.findall(".//testcase")}
        failures = {name: c.find("failure").get("message") for name, c in cases.items() if c.find("failure") is not None}
        self.assertEqual(failures, {f["violations"][0]: f["sentence"] for f in findings})
        for f in findings:
            for follower in f["violations"][1:]:
                self.assertTrue(cases[follower].find("skipped").get("message").endswith("; it follows from: " + f["sentence"]))
        suite = root.find("testsuite")
        counts = {"tests": len(cases), "failures": len(failures), "errors": 0,
                  "skipped": len(root.findall(".//skipped"))}
        self.assertEqual({key: int(suite.get(key)) for key in counts}, counts)

    def test_learned(self):
        self.assertGreater(len(self.assert_reports_agree("bad", "invariants.jsonl")), 1)
        self.assertEqual(self.assert_reports_agree("run", "invariants.jsonl", code=0), [])

    def test_departures(self):
        """One finding for all that lies behind a line that is gone."""
        losses = [3, 2.5, 2, 1.7, 1.5, 1.2]
        script = compared.SCRIPT.replace("optimizer.zero_grad()", "x = torch.flip(torch.roll(x, 1), [0])")
        for name in "healthy", "healthy_too":
            compared.write(self.work / name, losses, zero_grad=None, script=script,
                           more=[("torch.roll", 4, {"shifts": 1}), ("torch.flip", 4, {"dims": [0]})])
        compared.write(self.work / "departs", losses, zero_grad=None, script=re.sub("    x = .*\n", "", script), lines=(4, 5, 6))
        runs.run("infer", "-q", "--specific", "healthy", "healthy_too", "-o", "own.jsonl", cwd=self.work, code=0)
        self.assertGreater(len(self.assert_reports_agree("departs", "own.jsonl")), 1)
        self.assertEqual([f["kind"] for f in runs.json_lines(self.work / "out" / "findings.jsonl")], ["departure"])

    def test_settings(self):
        self.write_settings()
        self.assertEqual(len(self.assert_reports_agree("rate", "rate.jsonl")), 1)
        self.assertEqual(len(self.assert_reports_agree("both", "both.jsonl")), 2)

    def test_shipped(self):
        self.assertGreater(len(self.assert_reports_agree("bad", "@all")), 1)

    def test_unknown_and_unfit(self):
        lines = (self.work / "invariants.jsonl").read_text().splitlines()[1:]
        lines[:0] = map(json.dumps, [HEADER, *STRANGE])
        (self.work / "strange.jsonl").write_text("\n".join(lines) + "\n")
        self.assertGreater(len(self.assert_reports_agree("bad", "strange.jsonl")), 1)
        unchecked = {x["id"] for x in runs.json_lines(self.work / "out" / "unchecked.log")}
        self.assertLessEqual({"N-da61dd6a", "EC-3bfb1727"}, unchecked)

    def test_python_tool(self):
        trace, invariants = python_run()
        trace.write(self.work / "python")
        (self.work / "python.json").write_text("".join(json.dumps(i) + "\n" for i in invariants))
        violations = self.assert_reports_agree("python", "python.json")
        self.assertEqual({v["relation"] for v in violations}, {i["relation"] for i in invariants})


if __name__ == "__main__":
    runs.main()
