# SPDX-License-Identifier: Apache-2.0
"""An installed copy finds its sets, also after it was moved."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import shipped

PROCESS = {"type": "process", "schema": 1, "pid": 1, "role": "main", "packages": {"torch": "2.13.0"}}


class Installed(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.work = pathlib.Path(self.folder.name)
        self.trace = self.work / "trace_1.jsonl"
        self.trace.write_text(json.dumps(PROCESS) + "\n" + json.dumps({"type": "end", "t": 1, "events": 0, "dropped": 0}) + "\n")
        self.prefix = self.work / "first place"
        subprocess.run([self.cmake, "--install", self.build, "--prefix", self.prefix], check=True, capture_output=True)

    def run_tool(self, prefix, name, *arguments, **env):
        clean = {k: v for k, v in os.environ.items() if k != "TRAINCHECK_INVARIANTS"}
        return subprocess.run([prefix / "bin" / f"traincheck-{name}", *arguments], cwd=self.work, env=clean | env,
                              capture_output=True, text=True)

    def counts(self, prefix, names, **env):
        report = self.work / "report"
        p = self.run_tool(prefix, "check", "-q", self.trace, "-i", *names, "-o", report, **env)
        self.assertEqual(p.returncode, 3, p.stderr)  # nothing was judged: the trace holds no call
        return json.loads((report / "violations_summary.json").read_text())["counts"]["invariants"]

    def test_sets_are_found_beside_the_executable(self):
        source = shipped.ROOT / "invariants" / "pytorch.jsonl"
        expected = len(source.read_text().splitlines()) - 1
        self.assertEqual(self.counts(self.prefix, ["@pytorch"]), expected)
        moved = self.work / "second place"
        self.prefix.rename(moved)
        rules = len((source.parent / "rules.jsonl").read_text().splitlines()) - 1
        self.assertEqual(self.counts(moved, ["@all"]), expected + rules)
        # The very copy there, and no other, is read.
        (moved / "share/traincheck/invariants/pytorch.jsonl").write_text(
            "\n".join(source.read_text().splitlines()[:3]) + "\n")
        self.assertEqual(self.counts(moved, ["@pytorch"]), 2)
        self.assertEqual(self.counts(moved, ["@pytorch"], TRAINCHECK_INVARIANTS=str(source.parent)), expected)

    def test_the_self_test_passes_there_and_tells_what_is_wrong(self):
        def self_test():
            p = self.run_tool(self.prefix, "check", "--self-test")
            return p.returncode, p.stdout.splitlines()[-1:], p.stderr

        healthy, broken = (self.prefix / f"share/traincheck/self-test/{name}.jsonl.zst" for name in ("healthy", "broken"))
        self.assertEqual(self_test(), (0, ["self-test passed"], ""))
        kept = broken.read_bytes()
        broken.write_bytes(healthy.read_bytes())
        code, said, why = self_test()
        self.assertEqual((code, said), (2, []))
        self.assertIn("no violation tells of the missing zero_grad()", why)
        healthy.write_bytes(kept)
        self.assertRegex(self_test()[2], r"of a healthy run \d+ invariants passed and 1 failed")
        healthy.unlink()
        self.assertIn("healthy.jsonl.zst", self_test()[2])

    def test_the_readme_lies_beside_the_sets(self):
        folder = self.prefix / "share/traincheck/invariants"
        self.assertEqual(sorted(p.name for p in folder.iterdir()),
                         ["README.md", "deepspeed.jsonl", "distributed.jsonl", "llm.jsonl", "pytorch.jsonl", "rl.jsonl", "rules.jsonl", "transformers.jsonl"])

    def test_a_symbolic_link_to_a_tool_finds_them_too(self):
        (self.work / "bin").mkdir()
        (self.work / "bin/traincheck-check").symlink_to(self.prefix / "bin/traincheck-check")
        p = self.run_tool(self.work, "check", self.trace, "-i", "@nonsense")
        self.assertIn("there are @all, @deepspeed, @distributed, @llm, @pytorch, @rl, @rules, @transformers", p.stderr)

    def test_collect_and_onlinecheck_find_them(self):
        (self.work / "train.py").write_text("print('hello')\n")
        p = self.run_tool(self.prefix, "collect", "-i", "@pytorh", "-o", "t", "train.py")
        self.assertEqual((p.returncode, p.stdout), (125, ""))
        self.assertIn("did you mean '@pytorch'?", p.stderr)
        p = self.run_tool(self.prefix, "onlinecheck", "--exit-on-idle", "1", self.trace, "-i", "@all", "-o", "r")
        self.assertEqual(p.returncode, 3, p.stderr)
        self.assertIn("@all takes @pytorch: torch 2.13.0", p.stderr)


if __name__ == "__main__":
    shipped.main(build=Installed, cmake=Installed)
