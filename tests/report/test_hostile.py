#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names that are attacks, in a trace and in invariants: what is shown, and where, stays harmless."""

import json
import os
import re
import unicodedata
import unittest
import xml.etree.ElementTree as ET

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

    def hostile_check(self, *args, tool="check"):
        out = self.work / f"{tool}-out"
        more = ["--exit-on-idle", "1"] if tool == "onlinecheck" else []
        p = runs.run(tool, "cruel", "-i", "cruel.jsonl", "-o", out, *more, *args, cwd=self.work, code=1)
        return p, out

    def test_terminal(self):
        for tool in ("check", "onlinecheck"):
            p, _ = self.hostile_check(tool=tool)
            self.assertIn("add-mask", p.stdout)
            self.assert_harmless(p.stdout)
            self.assert_harmless(p.stderr)

    def test_json_says_all_and_is_harmless(self):
        for tool in ("check", "onlinecheck"):
            p, out = self.hostile_check("--json", tool=tool)
            self.assert_harmless(p.stdout)
            names = {x["name"] for line in p.stdout.splitlines() for x in json.loads(line)["variables"]}
            self.assertTrue(any(HOSTILE in name for name in names), names)
            for file in out.iterdir():
                if file.suffix in (".jsonl", ".log"):
                    self.assert_harmless(file.read_text(encoding="utf-8"))

    def test_github(self):
        p, _ = self.hostile_check("--format", "github")
        lines = p.stdout.split("\n")
        commands = [x for x in lines if re.match(r"\s*::", x)]
        self.assertGreater(len(commands), 0)
        for line in commands:
            self.assertRegex(line, r"^::error file=[^:,]*,line=\d+,title=[^:,]*::")
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
        _, out = self.hostile_check("--format", "sarif,junit,chrome", "--metrics", "x.prom")
        json.loads((out / "report.sarif").read_text())
        json.loads((out / "chrome_trace.json").read_text())
        for node in ET.parse(out / "junit.xml").iter():
            self.assertIn(node.tag, {"testsuites", "testsuite", "testcase", "failure", "skipped"})
        page = (out / "report.html").read_text()
        self.assertEqual(page.count("<script"), 2)
        data = re.search(r'id="data"[^>]*>(.*?)</script>', page, re.S)[1]
        self.assertNotIn("<", data)
        self.assertIn(HOSTILE, "".join(self.texts(json.loads(data))))

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
