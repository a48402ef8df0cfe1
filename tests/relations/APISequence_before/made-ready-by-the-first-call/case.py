# SPDX-License-Identifier: Apache-2.0
"""A layer makes its codes ready in its first call, in an order of its own; in all later ones it moves them before it picks from them. The broken run picks
from codes that it moves afterwards. Of a function that is drawn by turns, now this way, now that, no order is reported."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, later=("lerp_", "gather"), steps=8, turn=2):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for step in range(steps):
        t.enter("__main__.Codes.forward", role="forward", at="train.py:20", self={"object": "__main__.Codes", "id": 900, "attrs": {}})
        for name in ("gather", "copy_", "lerp_") if not step else later:
            t.op(f"torch.{name}", here="train.py:21", args={"input": t.tensor(4)}, value=t.tensor(4))
        t.leave()
        t.enter("__main__.Turns.forward", role="forward", at="train.py:22", self={"object": "__main__.Turns", "id": 901, "attrs": {}})
        for name in ("sin", "cos") if step % turn else ("cos", "sin"):
            t.op(f"torch.{name}", here="train.py:23", args={"input": t.tensor(4)}, value=t.tensor(4))
        t.leave()
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def fine(folder):
    train(folder, steps=7, turn=3)


def broken(folder):
    train(folder, later=("gather", "lerp_"))
