# SPDX-License-Identifier: Apache-2.0
"""A seed needs no second occasion: one that all ranks share makes equal models, and one of each rank's own other batches. Of another number
that a rank is given once nothing is said, nor is two ranks of three that share a seed one for all. In the broken run one rank alone adds its
number to what was for all, and what was each one's own is the same."""
from trace_writer import Trace

OPTIONS = ["--specific", "--enable-relation", "APIArg/value"]
N_RANKS = 3


def run(folder, shared, own, port):
    """The seeds, and a number that is no seed, of each rank."""
    for number in range(len(own)):
        t = Trace(folder, rank=number, world=len(own), pid=number + 1)
        t.op("torch.manual_seed", role="seed", at="train.py:20", args={"seed": shared[number]})
        model = t.net("w")
        optimizer = t.optimizer(model)
        t.op("numpy.random.seed", role="seed", at="train.py:21", args={"seed": own[number]})
        t.op("__main__.join", role="function", at="train.py:22", args={"port": port[number]})
        for _ in range(3):
            t.train_step(model, optimizer)
        t.end()


def healthy(folder):
    run(folder, (1, 1, 1), (10, 11, 12), (5, 5, 5))


def healthy_with_another_seed(folder):
    run(folder, (2, 2, 2), (20, 21, 22), (6, 6, 6))


def fine(folder):
    run(folder, (3, 3, 3), (30, 31, 32), (7, 8, 9))


def fine_with_two_alike(folder):
    run(folder, (4, 4, 4), (40, 40, 41), (7, 7, 7))


def fine_with_one_rank(folder):
    run(folder, (5,), (5,), (7,))


def broken(folder):
    run(folder, (6, 6, 7), (60, 60, 60), (7, 7, 7))
