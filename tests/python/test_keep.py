# SPDX-License-Identifier: Apache-2.0
"""--keep: the oldest steps of a trace go, what a live check has marked stays."""
import json
import subprocess
import unittest

from traced import BIN, Warm

STEPS, MARKED, AROUND = 1500, 300, 10
SCRIPT = f"""
import pathlib, sys, time
import torch

pathlib.Path(sys.argv[1], "found_test_1.steps").write_text("{MARKED}\\n")
w = torch.nn.Parameter(torch.ones(2))
late = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range({STEPS}):
    if step == 500:  # a variable that is first met in a step which is deleted
        optimizer.add_param_group({{"params": late.parameters()}})
    optimizer.zero_grad()
    (w * torch.randn(2)).sum().backward()
    optimizer.step()
    for _ in range(30):
        torch.randn(3)
    time.sleep(0.004)
"""


class Keep(Warm):
    def test_the_oldest_steps_go(self):
        run = self.collect("--stats", "--keep", "512K", self.script(SCRIPT), self.work / "trace")
        self.assertEqual(run.code, 0, run.err)
        path, = run.files()
        disk, size = path.stat().st_blocks * 512, path.stat().st_size
        self.assertGreater(size, 2 << 20)
        self.assertLess(disk, 3 << 19)  # what came in the last second is above the limit
        text = subprocess.run(["zstd", "-dcq", path], check=True, capture_output=True).stdout
        records = [json.loads(line) for line in text.splitlines()]
        self.assertEqual((records[0]["type"], records[0]["keep"], records[-1]["type"]), ("process", 512 << 10, "end"))
        steps = {r["step"] for r in records if r["type"] == "step"}
        self.assertLessEqual({*range(MARKED - AROUND, MARKED + AROUND + 1), STEPS - 1}, steps)
        trimmed = [r["count"] for r in records if r.get("code") == "trimmed"]
        self.assertEqual(len(trimmed), 2)
        self.assertEqual(sum(trimmed) + sum(r["type"] == "step" for r in records), STEPS + 1)  # and the window before the first
        known = {r["var"] for r in records if r["type"] == "var" and "kind" in r}
        self.assertEqual({r["var"] for r in records if r["type"] == "var"} - known, set())
        p = subprocess.run([BIN / "traincheck-check", run.folder, "-i", "@rules", "-o", self.work / "out"], capture_output=True, text=True)
        self.assertIn(p.returncode, (0, 3), p.stdout + p.stderr)
        self.assertEqual(p.stdout, "")
        for word in ("unmatched", "damaged", "bad-"):
            self.assertNotIn(word, p.stderr)


if __name__ == "__main__":
    unittest.main()
