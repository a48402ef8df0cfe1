#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trace scripts with an agent under a sanitizer, or in a Python that checks itself: nothing is found, nothing grows.

usage: test_agent.py --bin BUILD/bin [--preload FILE]... [--python PYTHON] [--steps N] address|thread|debug

  address, thread  BUILD has TC_SANITIZE_AGENT; FILE is the sanitizer's library
  debug            PYTHONMALLOC=debug and -X dev; PYTHON may be a debug build of CPython, as python3.11-dbg of Debian

Each traces a script that trains, saves, fails, forks a loader's workers and starts threads, a job of two gloo ranks, and one
whose references and blocks of memory are counted over N steps (20,000 for a long look; the tests take 1,600). Blocks are counted
in eight windows of N/8 steps; the median of the last five decides: what is lost at each step is lost in each window, while caches
of Python and torch fill in the first ones. Not counted are weak references to what is gone: the agent keeps that of an
address until the next object stands there, and drops all of them at some 4,096. The total of a debug
build, sys.gettotalrefcount, says nothing here: torch and the agent are built for the release and count by it only in part.
"""

import argparse
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from warm import warm_python  # noqa: E402

OPTIONS = None
REPORT = re.compile(r"ERROR: AddressSanitizer|runtime error:|WARNING: ThreadSanitizer|LeakSanitizer|"
                    r"Debug memory block|Fatal Python error|Assertion .* failed|SystemError")

SMALL = """
import copy, random, threading, numpy, torch
torch.manual_seed(0)
def loss_of(net, x, y, **options):
    def again():
        return net(x)
    return torch.nn.functional.mse_loss(again(), y)
half = lambda values: [value / 2 for value in values]
def refuse(rows, why="x" * 100):
    raise ValueError(why)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.rand(32, 8), torch.rand(32, 2)), batch_size=8,
                                   num_workers=WORKERS)
optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.1))
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
for epoch in range(3):
    for x, y in data:
        optimizer.zero_grad()
        loss_of(model, x, y, kind="mean").backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    scheduler.step()
    half(numpy.random.default_rng(epoch).permutation(4)), half([random.random(), len(random.choice(["a", "b"]))])
    for call in model, refuse:
        try:
            call(torch.rand(3, 5))
        except (RuntimeError, ValueError):
            pass
torch.save(model.state_dict(), "model.pt")
copy.deepcopy(model).load_state_dict(torch.load("model.pt"))
threads = [threading.Thread(target=lambda: model(torch.rand(4, 8))) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("%.9g" % sum(p.sum().item() for p in model.parameters()))
"""

RANKS = """
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(8):
    optimizer.zero_grad()
    model(torch.rand(4, 8)).sum().backward()
    optimizer.step()
dist.destroy_process_group()
os.write(1, b"done\\n")  # one call for one line: ranks share the pipe
"""

COUNT = """
import gc, random, resource, statistics, sys, weakref, torch
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.rand(4, 4)
def turn(scale, *more, **options):
    return lambda: scale * x.size(0)
watched = [model, optimizer, x, turn, *model.parameters(), torch.Tensor, torch.nn.Linear.forward, type(model)]
shared = [None, True, False, 0, 1, 2, -1, "", (), int, float, str, dict, tuple, list, bool, type, object, torch.nn.Parameter,
          torch.float32, torch.strided, torch.device("cpu"), torch.dtype, torch.Size, torch.optim.SGD, torch.optim.SGD.step]
def count():
    gc.collect()
    blocks = sys.getallocatedblocks()
    counts = [[sys.getrefcount(o) for o in objects] for objects in (watched, shared)]
    dead = sum(type(o) is weakref.ref and o() is None for o in gc.get_objects())
    return *counts, blocks - dead, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, dead
def train(n):
    for _ in range(n):
        optimizer.zero_grad()
        model(x).sum().backward()
        turn(random.random(), [x], rows=x)()
        optimizer.step()
def window():
    train(STEPS // 8)
    return count()
windows = [window() for _ in range(8)]
before, after = windows[1], windows[-1]
more = max(abs(a - b) for a, b in zip(before[1], after[1]))
blocks = int(statistics.median(b[2] - a[2] for a, b in zip(windows[2:], windows[3:])))
print("references", before[0] == after[0], "shared", more, "blocks", blocks, "kib", after[3] - before[3], "dead", after[4])
"""


@functools.lru_cache(maxsize=None)
def plain(text):
    """What it prints without the collector and without a sanitizer."""
    with tempfile.TemporaryDirectory(prefix="tc-sanitize-") as work:
        pathlib.Path(work, "job.py").write_text(text)
        return subprocess.run([OPTIONS.python, "job.py"], cwd=work, capture_output=True, text=True, timeout=300, check=True,
                              env={**os.environ, "OMP_NUM_THREADS": "1"}).stdout


class Agent(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="tc-sanitize-"))
        self.addCleanup(shutil.rmtree, self.work, True)
        self.env = {**os.environ, "OMP_NUM_THREADS": "1", **self.environment()}
        self.python = OPTIONS.python

    def environment(self):
        return {}

    def traced(self, text, *launch, options=()):
        """What the job printed; whatever a sanitizer says is a failure."""
        (self.work / "job.py").write_text(text)
        command = [OPTIONS.bin / "traincheck-collect", "--python", self.python, "-q", "--overwrite", "-o", "trace", *options,
                   "--", self.python, *launch, "job.py"]
        done = subprocess.run(command, cwd=self.work, env=self.env, capture_output=True, text=True, timeout=900, check=False)
        self.assertFalse(REPORT.search(done.stderr + done.stdout), done.stderr[-6000:])
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        self.assertTrue(list((self.work / "trace").glob("trace_*")))
        return done.stdout

    def small(self, workers, *launch, options=()):
        text = SMALL.replace("WORKERS", str(workers))
        self.assertEqual(self.traced(text, *launch, options=options), plain(text))

    def ranks(self, *launch):
        run = "torch.distributed.run", "--nproc-per-node", "2"
        self.assertEqual(self.traced(RANKS, *launch, "-m", *run), "done\ndone\n")

    def count(self, *launch):
        said = self.traced(COUNT.replace("STEPS", str(OPTIONS.steps)), *launch)
        shared, blocks, kib, dead = (int(re.search(rf"{name} (-?\d+)", said)[1]) for name in ("shared", "blocks", "kib", "dead"))
        print(f"{OPTIONS.steps} steps: {said.strip()}", file=sys.stderr, flush=True)
        self.assertIn("references True", said)
        self.assertLess(shared, 50)  # None and the like, which a leak would not show otherwise
        self.assertLess(blocks, OPTIONS.steps // 12)  # two blocks in three steps; what comes and goes is below 80 a window, however long
        self.assertLess(dead, 8192)
        self.assertLess(kib, 8192)


class Preloaded(Agent):
    """With late answers of a device: tables, records and what was told are let go of by two threads. To import torch below a
    sanitizer takes longer than all else: but for one, whose interpreter ends as such does, the scripts run in children of one that has."""

    def environment(self):
        return {"LD_PRELOAD": ":".join(OPTIONS.preload), "LD_LIBRARY_PATH": str(pathlib.Path(OPTIONS.standin).resolve().parent)}

    def share_torch(self):
        self.python = warm_python(OPTIONS.python, OMP_NUM_THREADS="1", **self.environment())

    def late(self, script, elsewhere, **env):
        self.share_torch()
        standin = pathlib.Path(OPTIONS.standin).resolve()
        here = pathlib.Path(__file__).resolve().parent.parent / "python"
        self.env |= {"TRAINCHECK_TEST_ELSEWHERE": elsewhere, "STANDIN": str(standin), "STANDIN_SCRIPT": str(here / script), "ASKS_DRIVER": "1",
                     "STANDIN_REPORT": str(self.work / "report.json"), **env}
        text = SMALL.replace("WORKERS", "0")
        late = "import os, runpy\nif 'STANDIN' in os.environ: runpy.run_path(os.environ['STANDIN_SCRIPT'])\n"
        self.assertEqual(self.traced(late + text), plain(text))

    def test_late_answers(self):
        """The writing thread takes answers of a device that the script has asked."""
        self.late("standin.py", "1")

    def test_late_answers_of_the_kernel(self):
        for env in {}, {"STANDIN_HIP": "1"}:
            with self.subTest(env):
                self.late("standin_kernel.py", "cuda", **env)
                self.assertGreater(json.loads((self.work / "report.json").read_text())["cuLaunchKernel"], 0)


class Address(Preloaded):
    def environment(self):
        options = "detect_leaks=0:strict_string_checks=1:detect_stack_use_after_return=0:handle_sigill=1"  # test.sh lets UBSan trap
        return {**super().environment(), "ASAN_OPTIONS": options, "UBSAN_OPTIONS": "print_stacktrace=1"}

    def test_small(self):
        self.small(1, options=("--stats", "--stack", "3", "--content", "full"))

    def test_ranks(self):
        self.share_torch()
        self.ranks()


class Thread(Preloaded):
    """Python and torch are not instrumented: what is found is of the agent, whose file the reports name."""

    def environment(self):
        return {**super().environment(), "TSAN_OPTIONS": "report_bugs=1:halt_on_error=0:ignore_noninstrumented_modules=1"}

    def test_small(self):
        self.small(0)


class Debug(Agent):
    def environment(self):
        return {"PYTHONMALLOC": "debug"}

    def test_small(self):
        self.small(1, "-X", "dev")

    def test_count(self):
        self.count()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=lambda name: pathlib.Path(name).resolve(), required=True)
    parser.add_argument("--preload", action="append", default=[])
    parser.add_argument("--python", default=os.environ.get("TRAINCHECK_TEST_PYTHON", sys.executable))
    parser.add_argument("--standin", default="build/tests/python/standin/libcuda.so.1", help="of the driver")
    parser.add_argument("--steps", type=int, default=1600)
    parser.add_argument("kind", choices=("address", "thread", "debug"))
    OPTIONS = parser.parse_args()
    del sys.argv[1:]
    unittest.main(defaultTest=OPTIONS.kind.capitalize(), verbosity=2)
