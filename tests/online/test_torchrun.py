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
from unittest.mock import ANY

import live

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from warm import warm_python  # noqa: E402

DRIFT = 5

INVARIANTS = [{"relation": "Consistent/replica", "params": [{"variable": "Parameter", "attr": a, "to": "equal"}]}
              for a in ("data", "dtype", "shape")]


class Torchrun(live.Case):
    def job(self, ranks, script, *args):
        """Start it; what it writes is in trace/."""
        env = {**os.environ, "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(
            [str(live.BIN / "traincheck-collect"), "-q", "--python", PYTHON, "-o", "trace", "--",
             PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks),
             str(HERE / script), *map(str, args)],
            cwd=self.work, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def test_the_step_is_named_while_the_job_runs(self):
        invariants = self.work / "invariants.jsonl"
        invariants.write_text("".join(json.dumps(i) + "\n" for i in INVARIANTS))
        checker = self.follow("trace", "-i", invariants, "-o", "report", "--json")
        told_at = time.time() - time.monotonic()
        job = self.job(2, "ddp.py", 20, DRIFT, "stamp")
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

    def test_ranks_wait_for_one_that_sleeps(self):
        """In step 4, before all_reduce(); while torch is imported all ranks may be silent for as long, and that is told otherwise."""
        invariants = self.work / "invariants.jsonl"
        invariants.write_text("".join(json.dumps(i) + "\n" for i in INVARIANTS))
        checker = self.follow("trace", "-i", invariants, "-o", "report", "--json", "--hang-after", "5")
        prefix = self.work / "trace" / "nccl_trace_rank_"
        job = self.job(3, "wait.py", 6, 1, 4, 15, *([prefix] if HAS_RECORDER else []))
        live.PATIENCE = 120
        checker.wait_for(checker.out, "rank 1 is not in all_reduce(), in which ranks 0 and 2 wait")
        self.assertIsNone(job.poll())
        finding = next(x for x in (json.loads(line) for _, line in checker.out) if "all_reduce" in x.get("sentence", ""))
        script = (HERE / "wait.py").read_text().splitlines()
        lines = {r["rank"]: script[int(r["at"].rpartition(":")[2]) - 1].strip() for r in finding["ranks"]}
        self.assertEqual((lines[0], lines[2]), ("dist.all_reduce(w.grad)",) * 2)
        self.assertTrue(lines[1].endswith(".backward()"), lines)  # it sleeps behind that
        self.assertEqual([r["collectives"] for r in finding["ranks"]], [5, 4, 5])
        self.assertEqual((finding["step"], finding["rank"]), (4, 1))
        self.assertEqual(HAS_RECORDER, "flight" in finding)
        if HAS_RECORDER:
            flight = finding["flight"]
            self.assertEqual((flight["group"], flight["call"], flight["ranks"], [m["rank"] for m in flight["missing"]]),
                             ("default_pg", "all_reduce()", [0, 2], [1]))
            self.assertEqual(flight["number"], flight["missing"][0]["number"] + 1)
            self.assertEqual(flight["at"].partition(":")[2], finding["ranks"][0]["at"].rpartition(":")[2])
        output, _ = job.communicate(timeout=120)
        self.assertEqual(job.returncode, 0, output.decode())
        self.assertEqual(checker.wait(), 1, checker.stderr())
        self.assertIn("the run goes on", checker.stderr())
        p = live.run("check", "trace", "-i", invariants, "-o", "offline", "-q", "--json", "--hang-after", "5", cwd=self.work)
        afterwards = [f for f in map(json.loads, p.stdout.splitlines()) if f.get("kind") == "hang"]
        self.assertIn({**finding, "when": ANY, "finding": ANY}, afterwards, p.stderr.decode())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--python", required=True)
    options, rest = parser.parse_known_args()
    live.BIN, PYTHON = options.bin.resolve(), warm_python(options.python, OMP_NUM_THREADS="1")
    HAS_RECORDER = subprocess.run([options.python, "-c", "from torch._C._distributed_c10d import _dump_fr_trace"], stderr=subprocess.DEVNULL).returncode == 0
    live.unittest.main(argv=[sys.argv[0], *rest])
