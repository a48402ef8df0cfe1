#!/usr/bin/env python3
"""What recording content costs: within one traced run it is off for two steps, then on for two, and so on.

usage: traincheck-collect -q --overwrite -o DIR benchmarks/collect/content.py PROGRAM     cnn gpt resnet lstm vae

Steps of one process compare where other jobs disturb whole runs. Prints, on stderr, the median processor time of the training
thread for a step with content off and with --content batches, their ratio, and that of the first quartiles. BENCH_STEPS
is the number of steps (default 200).
"""

import os
import pathlib
import runpy
import statistics
import sys
import tempfile
import time

import _traincheck_agent as agent  # there while the collector traces
from torch.optim.optimizer import register_optimizer_step_post_hook

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
WARM_UP = 10


class Turns:
    """Takes the time of each step, and turns content on or off after every second one."""

    def __init__(self):
        self.seconds, self.n, self.level, self.began = ([], []), 0, 0, None
        agent.detail(0, False, False, 0)

    def step(self, *_):
        now = time.thread_time()
        if self.n > WARM_UP:
            self.seconds[self.level].append(now - self.began)
        self.n += 1
        if self.n % 2 == 0:
            self.level = 1 - self.level
            agent.detail(0, False, False, self.level)
        self.began = time.thread_time()

    def report(self, name):
        off, on = map(statistics.median, self.seconds)
        first_off, first_on = (statistics.quantiles(times, n=4)[0] for times in self.seconds)
        print(f"{name}: off {off * 1e3:.2f} ms, batches {on * 1e3:.2f} ms, ratio {on / off:.3f}, of the first quartiles "
              f"{first_on / first_off:.3f}, {len(self.seconds[1])} steps each", file=sys.stderr)


def main():
    if len(sys.argv) != 2 or not (PROGRAMS / f"{sys.argv[1]}.py").exists():
        sys.exit(__doc__)
    name = sys.argv[1]
    turns = Turns()
    register_optimizer_step_post_hook(turns.step)
    sys.path.insert(0, str(PROGRAMS))
    with tempfile.TemporaryDirectory() as work:
        os.environ.update(BENCH_OUT=f"{work}/figures.json", BENCH_BEGIN="0", BENCH_STEPS=os.environ.get("BENCH_STEPS", "200"))
        sys.argv = [str(PROGRAMS / f"{name}.py")]
        runpy.run_path(sys.argv[0], run_name="__main__")
    turns.report(name)


main()

# SPDX-License-Identifier: Apache-2.0
