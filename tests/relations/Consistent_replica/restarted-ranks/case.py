# SPDX-License-Identifier: Apache-2.0
"""The job was restarted: its second start begins from other weights, and its ranks are compared with each other."""
from trace_writer import Trace

SECOND = 1_000_000_000
PIDS = {(0, 0): 1, (1, 1): 2, (1, 0): 3, (0, 1): 4, (0, 2): 5}  # so that files of both starts take turns


def rank(folder, number, start, world=2, steps=6, drifts_from=None, apart=10 * SECOND, **process):
    t = Trace(folder, rank=number, world=world, pid=PIDS[start, number],
              unix_ns=1_700_000_000 * SECOND + start * apart, **process)
    t.stage = "training"
    model = t.model("model", {"w": {"content": 50 + start}, "b": {"content": 60 + start}})
    optimizer = t.optimizer(model)
    for i in range(steps):
        t.zero_grad(optimizer, at="train.py:10")
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        if i == drifts_from:
            t.change(model.var("w"))
        t.cut()
    if start == 0:
        t.killed()
    else:
        t.end()


def healthy(folder):
    rank(folder, 0, 1)
    rank(folder, 1, 1)


def fine_one_after_the_other(folder):
    for start in (0, 1):
        rank(folder, 0, start)
        rank(folder, 1, start)


def fine_a_rank_died_first(folder):
    rank(folder, 0, 0, steps=3)
    rank(folder, 1, 0, steps=2)
    rank(folder, 0, 1)
    rank(folder, 1, 1)


def fine_on_hosts_whose_clocks_differ(folder):
    """Less than the time between the starts; the launcher counted them."""
    for start in (0, 1):
        for number in (0, 1):
            rank(folder, number, start, apart=SECOND, restart=start, host=f"host{number}")


def fine_with_fewer_ranks(folder):
    for number in range(3):
        rank(folder, number, 0, world=3)
    rank(folder, 0, 1)
    rank(folder, 1, 1)


def broken(folder):
    rank(folder, 0, 0)
    rank(folder, 1, 0)
    rank(folder, 0, 1)
    rank(folder, 1, 1, drifts_from=2)
