#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A live check of a folder on a mount like NFS, which slow_mount.c plays: late, with old sizes, gone for a while.

usage: test_mount.py --bin BUILD/bin --preload SLOW_MOUNT.so [TEST...]
"""

import argparse
import json
import pathlib
import random
import sys
import threading
import time
import unittest

import live
from live import more_steps, write_loop
from test_equal import pack_files, write_drift

PRELOAD = None


class Mount(live.Case):
    def mounted(self, **settings):
        return {"LD_PRELOAD": str(PRELOAD), **{f"SLOW_MOUNT_{key.upper()}": str(value) for key, value in settings.items()}}

    def assert_as_offline(self, invariants):
        self.assertEqual((self.work / "live" / "violations.jsonl").read_bytes(), self.check("trace", invariants, "offline", self.work))
        counts = [json.loads((self.work / name / "violations_summary.json").read_text()) for name in ("live", "offline")]
        self.assertEqual(*[{key: c.get(key) for key in ("records", "calls", "windows", "counts", "notes")} for c in counts])

    def learn_ranks(self):
        for i in range(2):
            for rank in range(2):
                write_loop(self.work / f"replicas{i}", rank=rank, world=2, pid=1 + rank)
        return self.learn("replicas0", "replicas1")

    def test_what_comes_late_and_old_sizes(self):
        """A size may be 400 ms old, so that a frame is seen in parts; each question takes 5 ms."""
        invariants = self.learn_ranks()
        for seed in range(3):
            with self.subTest(seed=seed):
                rng = random.Random(seed)
                write_drift(rng, self.work / f"source{seed}", 3)
                pack_files(rng, self.work / f"source{seed}")
                self.work, before = self.work / f"round{seed}", self.work
                self.work.mkdir()
                player = threading.Thread(target=live.play, args=(rng, before / f"source{seed}", self.work / "trace", 0.05))
                player.start()
                checker = self.follow("trace", "-q", "-i", invariants, "-o", "live", "--exit-on-idle", "3",
                                      env=self.mounted(delay_ms=5, cache_ms=400))
                player.join()
                self.assertIn(checker.wait(), (0, 1, 3), checker.stderr())
                self.assert_as_offline(invariants)
                self.work = before

    def test_a_mount_that_is_gone_for_a_while(self):
        """What grew just before is not lost: sizes are told, nothing can be read, and later nothing grows."""
        invariants = self.learn_loop()
        trace = write_loop(self.work / "trace", steps=2, end=False)
        checker = self.follow("trace", "-i", invariants, "-o", "live", "--report-interval", "1", env=self.mounted(gone=self.work / "gone"))
        end = time.monotonic() + live.PATIENCE
        while not (self.work / "live" / "violations_summary.json").exists():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        (self.work / "gone").touch()
        more_steps(trace, 6, broken_from=3)
        trace.end()
        time.sleep(1.5)
        self.assertIsNone(checker.process.poll(), checker.stderr())
        self.assertEqual(checker.stdout(), "")
        (self.work / "gone").unlink()
        self.assertEqual(checker.wait(), 1, checker.stderr())
        self.assert_as_offline(invariants)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--preload", required=True, type=pathlib.Path)
    options, rest = parser.parse_known_args()
    live.BIN, PRELOAD = options.bin.resolve(), options.preload.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
