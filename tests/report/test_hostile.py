#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names that are attacks, in a trace and in invariants: what is shown, and where, stays harmless."""

import json
import os
import re
import unicodedata
import unittest
import xml.etree.ElementTree as ET

import compared
import runs

MARKUP = "</script><script>document.title=1</script><img src=x onerror=\"alert(1)\">"
STEERING = "\x1b]0;PWNED\x07\x1b[31mred\x1b[2J\u009b31m\u202egnp\u0085\u2066x\u2028"
COMMANDS = "\n::error file=x::INJ\n   ::add-mask::x\r\n##[error]foo ##vso[task.complete] ::stop-commands::x"
HOSTILE = MARKUP + STEERING + COMMANDS


class Hostile(runs.Case):
    def setUp(self):
        super().setUp()
        for name, broken in (("mean", ()), ("cruel", self.BROKEN)):
            runs.write_run(self.work / name, name=f"model{HOSTILE}", at=f"{HOSTILE}.py", broken=broken)
        runs.run("infer", "-q", "mean", "-o", "cruel.jsonl", cwd=self.work, code=0)

    def assert_harmless(self, text, marks=True):
        """Of text that ends up in a terminal, or in the log of a service."""
        for c in text:
            self.assertTrue(c == "\n" or unicodedata.category(c) not in ("Cc", "Cf", "Zl", "Zp"), repr(c))
        if marks:
            self.assertIsNone(re.search(r"^\s*::|##", text, re.M))

    def hostile_check(self, *args, tool="check", run="cruel"):
        out = self.work / f"{run}-{tool}-out"
        more = ["--exit-on-idle", "1"] if tool == "onlinecheck" else []
        p = runs.run(tool, run, "-i", f"{run}.jsonl", "-o", out, *more, *args, cwd=self.work, code=1)
        return p, out

    def write_departures(self):
        """Of what is called, given and edited each name, text and line is an attack, and so is the name of the healthy run."""
        losses = [3, 2.5, 2, 1.7, 1.5, 1.2]
        one_line = HOSTILE.replace("\n", "\\n").replace("\r", "\\r").replace("\u2028", "").replace("\u0085", "")
        healthy = f"healthy{HOSTILE.replace('/', '.')[:120]}"
        for run, word in (healthy, "old"), ("healthy_too", "old"), ("departs", "new"):
            script = compared.SCRIPT.replace("optimizer.zero_grad()", f"f('{word}')  # {one_line}")
            script = script.replace("torch.manual_seed(0)", f"{word}_thing()  # ::error::{one_line}")
            more = [(f"pack.{word}{HOSTILE}", 2, {}), (f"pack.f{HOSTILE}", 4, {f"x{HOSTILE}": f"{word}{HOSTILE}"})]
            compared.write(self.work / run, losses, zero_grad=None, script=script, at=f"{HOSTILE}.py", name=f"w{HOSTILE}", more=more)
        runs.run("infer", "-q", "--specific", healthy, "healthy_too", "-o", "departs.jsonl", cwd=self.work, code=0)

    def test_terminal(self):
        self.write_departures()
        for tool in ("check", "onlinecheck"):
            for run in ("cruel", "departs"):
                for more in [], ["-v"]:
                    p, _ = self.hostile_check("--overwrite", *more, tool=tool, run=run)
                    self.assertIn("add-mask", p.stdout)
                    self.assert_harmless(p.stdout)
                    self.assert_harmless(p.stderr)
                    self.assertEqual("  +    2  new_thing()" in p.stdout, run == "departs", p.stdout)
        p = runs.run("check", "departs", "--against", "departs.jsonl", "-o", "compared", cwd=self.work, code=1)
        self.assertIn("  +    2  new_thing()", p.stdout)
        self.assert_harmless(p.stdout + p.stderr)

    def test_json_says_all_and_is_harmless(self):
        self.write_departures()
        for tool, run in ("check", "cruel"), ("onlinecheck", "cruel"), ("check", "departs"), ("onlinecheck", "departs"):
            p, out = self.hostile_check("--json", tool=tool, run=run)
            self.assert_harmless(p.stdout)
            said = [json.loads(line) for line in p.stdout.splitlines()]
            for texts in self.texts([x for x in said if "sentence" in x]), self.texts([x for x in said if "id" in x]):
                self.assertTrue(any(HOSTILE in text for text in texts), (tool, run))
            for file in out.iterdir():
                if file.suffix in (".jsonl", ".log"):
                    self.assert_harmless(file.read_text(encoding="utf-8"))
        findings = runs.json_lines(self.work / "departs-check-out" / "findings.jsonl")
        self.assertEqual({f["kind"] for f in findings} - {"setting"}, {"departure"})
        self.assertTrue(all(any("PWNED" in line["text"] for line in f["lines"]) for f in findings))

    def test_github(self):
        self.write_departures()
        for run in ("cruel", "departs"):
            p, _ = self.hostile_check("--format", "github", run=run)
            lines = p.stdout.split("\n")
            commands = [x for x in lines if re.match(r"\s*::", x)]
            self.assertGreater(len(commands), 0)
            for line in commands:
                self.assertRegex(line, r"^::(error|notice) file=[^:,]*,line=\d+,title=[^:,]*::")
                self.assert_harmless(line, marks=False)
                self.assertNotRegex(line, r"##|(%0A|\s)\s*::")

    def test_explain(self):
        ids = [json.loads(x)["id"] for x in (self.work / "cruel.jsonl").read_text().splitlines()[1:]]
        p = runs.run("check", "-i", "cruel.jsonl", "--explain", ",".join(ids), cwd=self.work)
        self.assert_harmless(p.stdout)

    def test_profile(self):
        """Every text of a trace but those that say what a record is."""
        kinds = {"type", "role", "stage", "why", "host", "mode", "content", "digest", "data", "grad", "dtype", "device", "code"}

        def spoiled(value, key):
            if isinstance(value, str):
                return value if key in kinds else value + HOSTILE.replace(".", "")  # of a name the last part is shown
            if isinstance(value, dict):
                return {k: spoiled(v, k) for k, v in value.items()}
            return [spoiled(v, key) for v in value] if isinstance(value, list) else value

        (self.work / "spoiled").mkdir()
        for file in (self.work / "mean").iterdir():
            records = (json.loads(line) for line in file.read_text().splitlines())
            (self.work / "spoiled" / file.name).write_text("".join(json.dumps(spoiled(r, None)) + "\n" for r in records))
        for path in "-", "profile.txt":
            p = runs.run("infer", "--specific", "--profile", path, "spoiled", "-o", "own.jsonl", cwd=self.work, code=0)
            self.assert_harmless(p.stdout + p.stderr)
        profile = (self.work / "profile.txt").read_text()
        self.assertIn("add-mask", profile)
        self.assert_harmless(profile)

    def test_files(self):
        self.write_departures()
        for run in ("cruel", "departs"):
            _, out = self.hostile_check("--format", "sarif,junit,chrome", "--metrics", "x.prom", run=run)
            json.loads((out / "report.sarif").read_text())
            json.loads((out / "chrome_trace.json").read_text())
            for node in ET.parse(out / "junit.xml").iter():
                self.assertIn(node.tag, {"testsuites", "testsuite", "testcase", "failure", "skipped"})
            page = (out / "report.html").read_text()
            self.assertEqual(page.count("<script"), 2)
            data = re.search(r'id="data"[^>]*>(.*?)</script>', page, re.S)[1]
            self.assertNotIn("<", data)
            self.assertIn(HOSTILE, "".join(self.texts(json.loads(data))))

    def test_excerpts(self):
        """An invariant file may come from anybody: its healthy run may be called anything, and be no excerpt."""
        self.write_departures()
        text = (self.work / "departs.jsonl").read_text(encoding="utf-8")
        self.assert_harmless(text.replace("##", ""), marks=False)
        for line in text.splitlines():
            self.assertNotRegex(line, r"^\s*(::|##)")
        lines = text.splitlines()
        for damage in ('"zstd":"', f'"zstd":"{json.dumps(HOSTILE)[1:-1]}'), ('"schema":1', '"schema":9'), ('"zstd":"K', '"zstd":"A'):
            damaged = [line.replace(*damage) if '"excerpt"' in line else line for line in lines]
            (self.work / "damaged.jsonl").write_text("\n".join(damaged) + "\n")
            p = runs.run("check", "departs", "--against", "damaged.jsonl", "-o", "damaged", cwd=self.work, code=2)
            self.assertIn("damaged.jsonl:2", p.stderr)
            self.assert_harmless(p.stderr)
            p = runs.run("check", "departs", "-i", "damaged.jsonl", "-o", "damaged", "--overwrite", cwd=self.work, code=1)
            self.assert_harmless(p.stdout + p.stderr)
            summary = json.loads((self.work / "damaged" / "violations_summary.json").read_text())
            self.assertIn("no-comparison", [note["code"] for note in summary["notes"]])
            self.assertEqual({f["kind"] for f in summary["findings"]} - {"setting"}, {"violation"})

    def texts(self, value):
        if isinstance(value, str):
            yield value
        for x in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from self.texts(x)

    def test_names_of_files(self):
        """They stand in messages on stderr."""
        bad = self.work / "tr\x1b[31m\n::error::x"
        os.rename(self.work / "cruel", bad)
        next(bad.iterdir()).write_text("##[error] no trace\n")
        p = runs.run("check", bad, "-i", "cruel.jsonl", "-o", "o", cwd=self.work)
        self.assertIn("error", p.stderr)
        self.assert_harmless(p.stderr)


if __name__ == "__main__":
    runs.main()
