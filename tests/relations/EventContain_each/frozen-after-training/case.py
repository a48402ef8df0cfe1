# SPDX-License-Identifier: Apache-2.0
"""A module trains, rests for so many steps, and trains again. After ten steps of rest it is frozen, and its statistics stay; what rests by turns, as a
critic while its generator learns, is not."""
from trace_writer import Trace


def train(folder, drifts, rest):
    t = Trace(folder)
    t.stage = "training"
    model = t.model("model", {"base.w": {}, "base.mean": {"kind": "buffer"}, "head.w": {}})
    base, head = (t.optimizer(model, params=[model.var(name)]) for name in ("base.w", "head.w"))
    for step in range(3 * rest):
        is_resting = step % rest > 0
        t.set(model.var("base.w"), requires_grad=not is_resting)
        for optimizer in (head,) if is_resting else (base, head):
            t.zero_grad(optimizer)
        t.forward(model, changes=["base.mean"] if drifts or not is_resting else [])
        t.backward(model)
        for optimizer in (head,) if is_resting else (base, head):
            t.step(optimizer)
        t.cut()
    t.end()


def fine_by_turns(folder):
    train(folder, True, 5)


def broken(folder):
    train(folder, True, 13)


def healthy(folder):
    train(folder, False, 13)
