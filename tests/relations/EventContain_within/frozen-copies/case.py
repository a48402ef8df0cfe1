# SPDX-License-Identifier: Apache-2.0
"""A target network that requires no gradient is copied by hand; the trained one never is."""
from trace_writer import Trace


def train(folder, by_hand=()):
    t = Trace(folder)
    model = t.net("w", "target", frozen=["target"])
    optimizer = t.optimizer(model, params=[model.var("w")])
    for _ in range(5):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model, reaches=[model.var("w")])
        t.step(optimizer)
        t.enter("torch.Tensor.copy_", at="train.py:35")
        for name in ("target", *by_hand):
            t.change(model.var(name))
        t.leave()
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, by_hand=["w"])
