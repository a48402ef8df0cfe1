# SPDX-License-Identifier: Apache-2.0
"""Workers that live at the same time must not draw the same numbers; those of the next epoch may."""
from trace_writer import Trace

SEED = "numpy.random.seed"


def main(folder):
    t = Trace(folder, pid=1)
    t.end()


def worker(folder, pid, seed, later=0):
    t = Trace(folder, pid=pid, ppid=1, role="worker")
    t.t += later
    for i in range(3):
        t.op(SEED, role="seed", at="train.py:70", args={"seed": seed + i})
    t.end()


def healthy(folder):
    main(folder)
    worker(folder, 2, seed=100)
    worker(folder, 3, seed=200)


def fine(folder):
    main(folder)
    worker(folder, 2, seed=100)
    worker(folder, 3, seed=200)
    worker(folder, 4, seed=100, later=10**9)
    worker(folder, 5, seed=200, later=10**9)


def broken(folder):
    main(folder)
    worker(folder, 2, seed=100)
    worker(folder, 3, seed=100)
