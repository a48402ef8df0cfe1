# SPDX-License-Identifier: Apache-2.0
"""benchmarks/identity: a build equals itself, and differs from one that asks for more support."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BENCHMARKS = pathlib.Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS / "check"))
import traces  # noqa: E402

BIN = pathlib.Path(os.environ["TRAINCHECK_BIN"])


class Identity(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tc identity ")
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)
        traces.write(self.work / "traces" / "loop", 20)
        traces.write(self.work / "traces" / "loop+seed=2", 12)

    def compare(self, before, *more):
        return subprocess.run([sys.executable, "-B", BENCHMARKS / "identity" / "run.py", "--before", before, "--bin", BIN,
                               "-j1", *more, self.work / "traces"], capture_output=True, text=True, timeout=120)

    def test_a_build_equals_itself(self):
        p = self.compare(BIN)
        self.assertEqual((p.returncode, p.stderr), (0, ""))
        self.assertRegex(p.stdout, r"\Aidentity: 0 of \d\d+ outputs differ, 2 traces, \d learned from together\n\Z")

    def test_another_threshold_is_seen(self):
        other = self.work / "other"
        other.mkdir()
        (other / "traincheck-check").symlink_to(BIN / "traincheck-check")
        infer = other / "traincheck-infer"
        infer.write_text(f'#!/bin/sh\nexec "{BIN}/traincheck-infer" --min-support 1000 "$@"\n')
        infer.chmod(0o755)
        p = self.compare(other)
        self.assertEqual(p.returncode, 1)
        self.assertRegex(p.stdout, r"loop: own\.jsonl: line \d+\n    before: .*\n    after:  ")

    @unittest.skipUnless(shutil.which("zstd"), "needs the program zstd")
    def test_evidence_of_an_older_schema_is_compared_as_it_is_read(self):
        """The other build writes schema 1: its words and its number are other ones, and what they say is the same."""
        self.assertEqual(self.compare(self.writing_evidence(r"s/grad_absent/fresh/g; s/no_update/idle/g; s/\"schema\":[0-9]*/\"schema\":1/")).returncode, 0)
        p = self.compare(self.writing_evidence(r"s/grad_absent/old/g"))
        self.assertEqual(p.returncode, 1)
        self.assertIn("loop: evidence.tce: line 1", p.stdout)

    def writing_evidence(self, change):
        """Tools whose evidence is changed by sed."""
        other = pathlib.Path(tempfile.mkdtemp(dir=self.work))
        (other / "traincheck-check").symlink_to(BIN / "traincheck-check")
        infer = other / "traincheck-infer"
        infer.write_text(f"""#!/bin/sh
"{BIN}/traincheck-infer" "$@" || exit
[ ! -e evidence.tce ] || {{ zstd -dcq evidence.tce | sed '{change}' | zstd -q >new && mv new evidence.tce; }}
""")
        infer.chmod(0o755)
        return other

    def test_a_renamed_word_is_no_difference(self):
        other = pathlib.Path(tempfile.mkdtemp(dir=self.work))
        (other / "traincheck-infer").symlink_to(BIN / "traincheck-infer")
        check = other / "traincheck-check"
        check.write_text(f"""#!/bin/sh
"{BIN}/traincheck-check" "$@"
status=$?
sed -i 's/"held":/"upheld":/' check-*/*.log
exit $status
""")
        check.chmod(0o755)
        self.assertEqual(self.compare(other).returncode, 1)
        self.assertEqual(self.compare(other, "--renamed", "upheld=held").returncode, 0)

    def test_a_folder_without_traces_is_named(self):
        (self.work / "traces").rename(self.work / "away")
        (self.work / "traces").mkdir()
        p = self.compare(BIN)
        self.assertEqual(p.returncode, 1)
        self.assertIn(f"identity: no traces in {self.work / 'traces'}", p.stderr)


if __name__ == "__main__":
    unittest.main()
