#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a live check keeps of each rank: memory grows by less than 64 kB with each.

usage: test_size.py --bin BUILD/bin
"""

import argparse
import pathlib
import subprocess
import sys
import unittest

import live

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "online"))
from run import frames, write_rank  # noqa: E402

FEW, MORE, MANY = 16, 96, 176  # ranks
LIMIT_KB = 64
IS_SANITIZED = "--sanitized" in sys.argv  # it keeps what is freed


class Size(live.Case):
    def setUp(self):
        super().setUp()
        self.text = write_rank(self.work / "one", 6)
        (self.work / "one" / "rank0.jsonl").rename(self.work / "one" / "trace_host_r0_p100.jsonl")
        self.invariants = self.learn("one")

    def peak_kb(self, ranks):
        folder = self.work / f"trace{ranks}"
        folder.mkdir()
        for rank in range(ranks):
            (folder / f"trace_host_r{rank}_p{100 + rank}.jsonl.zst").write_bytes(b"".join(frames(self.text, rank, ranks)))
        code = ("import resource, subprocess, sys\n"
                "status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode\n"
                "print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        said = subprocess.run([sys.executable, "-c", code, live.BIN / "traincheck-onlinecheck", folder, "-q", "-i", self.invariants,
                               "-o", f"report{ranks}", "--no-html-report", "--overwrite"], cwd=self.work, check=True, capture_output=True, text=True)
        status, peak = map(int, said.stdout.split())
        self.assertEqual(status, 0, said.stderr)
        return peak

    @unittest.skipIf(IS_SANITIZED, "a sanitizer keeps what is freed")
    def test_a_rank_takes_less_than_64_kb(self):
        few, more, many = map(self.peak_kb, (FEW, MORE, MANY))
        self.assertLess((many - few) / (MANY - FEW), LIMIT_KB)
        self.assertLess((many - more) / (MANY - MORE), 1.5 * (more - few) / (MORE - FEW) + 8)  # and no more with each further one


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--sanitized", action="store_true")
    options, rest = parser.parse_known_args()
    live.BIN = options.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
