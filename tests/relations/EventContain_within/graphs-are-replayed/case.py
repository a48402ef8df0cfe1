# SPDX-License-Identifier: Apache-2.0
"""What a graph does that is replayed may be a step; what the script writes beside it is no part of it."""
from trace_writer import Trace

REPLAY = "torch.cuda.CUDAGraph.replay"


def train(folder, replays=False, by_hand=False):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(4):
        t.train_step(model, optimizer)
        for _ in range(3 if replays else 0):
            t.enter(REPLAY, role="replay", at="train.py:34")
            t.change(model.var("w"))
            t.leave()
        if by_hand:
            t.change(model.var("w"))
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, replays=True)


def broken(folder):
    train(folder, replays=True, by_hand=True)
