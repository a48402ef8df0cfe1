#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A live check and a check afterwards are one: the same bytes from a folder that grew in any way.

usage: test_equal.py --bin BUILD/bin [--seed N] [--rounds N]
"""

import argparse
import json
import pathlib
import random
import sys
import threading
import time

import live
import random_trace
from trace_writer import Trace


def write_workers(rng, folder):
    """DataLoader workers of two epochs; some begin with the seed of a sibling."""
    for epoch in range(2):
        seeds = [rng.choice((7, 8, 9)) for _ in range(3)]
        for i, seed in enumerate(seeds):
            pid = 1000 + 10 * epoch + i
            t = Trace(folder, pid=pid, ppid=100, role="worker")
            t.t += epoch * 10**9 + i * rng.choice((10, 5000))
            for k in range(rng.randint(1, 4)):
                t.op("numpy.random.seed", role="seed", at="train.py:70", args={"seed": seed + k})
            t.end() if rng.random() < 0.8 else t.killed()


def write_drift(rng, folder, world):
    """Replicas of which one, or none, goes its own way; one may be lost."""
    drifts_from, drifts = rng.randint(1, 5), rng.randrange(world)
    for rank in range(world):
        t = live.write_loop(folder, 0, rank=rank, world=world, pid=200 + rank, end=False,
                            unix_ns=1_700_000_000_000_000_000 + rng.randint(0, 10**12))
        for i in range(8 if rank or rng.random() < 0.8 else 4):
            live.more_steps(t, 1)
            if rank == drifts and i >= drifts_from:
                t.change(t.net_.var("w"))
        t.end() if rng.random() < 0.8 else t.killed()


def write_run(rng, folder):
    kind = rng.choice(("loop", "loop", "ranks", "workers"))
    if kind == "ranks":
        write_drift(rng, folder, rng.choice((2, 3, 5)))
    else:
        random_trace.write(rng, folder)
    if kind == "workers":
        write_workers(rng, folder)


def damage(rng, path):
    """What a disk may do to a file."""
    data = bytearray(path.read_bytes())
    for _ in range(rng.randint(1, 3)):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data[:rng.randint(len(data) // 2, len(data))])


def pack_files(rng, folder):
    for path in list(folder.iterdir()):
        if rng.random() < 0.7:
            path.with_suffix(".jsonl.zst").write_bytes(live.pack(rng, path.read_bytes()))
            path.unlink()
    for path in sorted(folder.iterdir()):
        if rng.random() < 0.15:
            damage(rng, path)


class Equal(live.Case):
    def learn_runs(self, rng):
        """Invariants that later runs hold and break: of loops, of replicas, of workers."""
        for i in range(7):
            random_trace.write(rng, self.work / f"learned{i}")
        for i in range(2):
            for rank in range(2):
                live.write_loop(self.work / f"replicas{i}", rank=rank, world=2, pid=1 + rank)
            for pid, seed in ((1, None), (2, 100), (3, 200)):
                t = Trace(self.work / f"workers{i}", pid=pid, **({"ppid": 1, "role": "worker"} if seed else {}))
                for k in range(3 if seed else 0):
                    t.op("numpy.random.seed", role="seed", at="train.py:70", args={"seed": seed + k})
                t.end()
        names = [p.name for p in sorted(self.work.iterdir()) if p.is_dir()]
        parts = [self.learn(*[n for n in names if n.startswith(kind)], output=f"{kind}.jsonl")
                 for kind in ("learned", "replicas", "workers")]
        return parts

    def test_any_way_of_growing(self):
        for seed in range(SEED, SEED + ROUNDS):
            with self.subTest(seed=seed):
                self.one_round(random.Random(seed), self.work / str(seed))

    def one_round(self, rng, work):
        work.mkdir()
        self.work, before = work, self.work
        invariants = self.learn_runs(rng)
        self.work = before
        (work / "live").mkdir()
        write_run(rng, work / "trace")
        pack_files(rng, work / "trace")
        p = live.run("check", "-q", "trace", "-i", *invariants, "-o", "report", "-j", 2, cwd=work)
        self.assertIn(p.returncode, (0, 1, 2, 3), p.stderr.decode())
        if p.returncode == 2:
            return  # nothing in the folder is a trace any more
        want = (work / "report" / "violations.jsonl").read_bytes()
        live.run("check", "-q", "trace", "-i", *invariants, "-o", "alone", "-j", 1, cwd=work)
        for file in (work / "alone").iterdir():
            if file.suffix in (".log", ".jsonl"):  # whether or not a second thread reads
                self.assertEqual(file.read_bytes(), (work / "report" / file.name).read_bytes(), file.name)
        begin = rng.choice((0, 0.05, 0.3))
        player = threading.Thread(target=live.play, args=(rng, work / "trace", work / "live" / "trace"))
        player.start()
        time.sleep(begin)
        checker = self.follow("trace", "-q", "--json", "-i", *invariants, "-o", "report", "--exit-on-idle", "2",
                              cwd=work / "live")
        player.join()
        code = checker.wait()
        self.assertEqual(code, p.returncode, checker.stderr())
        got = (work / "live" / "report" / "violations.jsonl").read_bytes()
        self.assertEqual(got.decode(), want.decode())
        self.assertEqual((work / "live" / "report" / "findings.jsonl").read_bytes(), (work / "report" / "findings.jsonl").read_bytes())
        told = sorted(x["id"] for x in map(json.loads, checker.stdout().splitlines()) if "id" in x)
        self.assertEqual(told, sorted(json.loads(line)["id"] for line in want.splitlines()))
        self.n_violations = getattr(self, "n_violations", 0) + len(told)

    def tearDown(self):
        print(f"{getattr(self, 'n_violations', 0)} violations in {ROUNDS} rounds from seed {SEED}", file=sys.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--rounds", type=int, default=12)
    options, rest = parser.parse_known_args()
    live.BIN = options.bin.resolve()
    SEED, ROUNDS = options.seed, options.rounds
    live.unittest.main(argv=[sys.argv[0], *rest])
