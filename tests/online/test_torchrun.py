#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A torchrun job whose replicas part at step 5, watched while it runs.

usage: test_torchrun.py --bin BUILD/bin --python PYTHON
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

import live

HERE = pathlib.Path(__file__).resolve().parent
DRIFT = 5

INVARIANTS = [{"relation": "Consistent/replica", "params": [{"variable": "Parameter", "attr": a, "to": "equal"}]}
              for a in ("data", "dtype", "shape")]


class Torchrun(live.Case):
    def job(self, steps, drift):
        """Start it; what it writes is in trace/."""
        env = {**os.environ, "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(
            [str(live.BIN / "traincheck-collect"), "-q", "--python", PYTHON, "-o", "trace", "--",
             PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
             str(HERE / "ddp.py"), str(steps), str(drift), "stamp"],
            cwd=self.work, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def test_the_step_is_named_while_the_job_runs(self):
        invariants = self.work / "invariants.jsonl"
        invariants.write_text("".join(json.dumps(i) + "\n" for i in INVARIANTS))
        checker = self.follow("trace", "-i", invariants, "-o", "report", "--json")
        told_at = time.time() - time.monotonic()
        job = self.job(steps=20, drift=DRIFT)
        live.PATIENCE = 120
        checker.wait_for(checker.out, "Consistent/replica")
        self.assertIsNone(job.poll())
        told = next(x for x in (json.loads(line) for _, line in checker.out) if "id" in x)
        self.assertEqual(told["step"], DRIFT)
        self.assertRegex(told["seen"], r"^data of \S+\.2\.bias differs between ranks")
        self.assertIn("rank 1 is not as rank 0", told["seen"])
        output, _ = job.communicate(timeout=120)
        self.assertEqual(job.returncode, 0, output.decode())
        self.assertEqual(checker.wait(), 1, checker.stderr())
        self.assertEqual((self.work / "report" / "violations.jsonl").read_bytes(),
                         self.check("trace", invariants, "offline", self.work))
        late = told_at + checker.out[0][0] - float((self.work / "stamp").read_text())
        print(f"told {late:.2f} s after step {DRIFT}", file=sys.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--python", required=True)
    options, rest = parser.parse_known_args()
    live.BIN, PYTHON = options.bin.resolve(), options.python
    live.unittest.main(argv=[sys.argv[0], *rest])
