# SPDX-License-Identifier: Apache-2.0
"""Gradients may be cleared before the forward, after it or after the step, by the optimizer or by the model."""
from trace_writer import Trace


def train(folder, order):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)

    def clear_the_model():
        t.enter("torch.nn.Module.zero_grad", role="zero_grad", at="train.py:10")
        for v in model.parameters:
            t.set(v, grad="null")
        t.leave()

    acts = {"clear": lambda: t.zero_grad(optimizer), "forward": lambda: t.forward(model),
            "clear the model": clear_the_model,
            "backward": lambda: t.backward(model), "step": lambda: t.step(optimizer)}
    for _ in range(5):
        for act in order:
            acts[act]()
        t.cut()
    t.end()


def healthy(folder):
    train(folder, ["clear", "forward", "backward", "step"])


def fine_after_the_step(folder):
    train(folder, ["forward", "backward", "step", "clear"])


def fine_after_the_forward(folder):
    train(folder, ["forward", "clear", "backward", "step"])


def fine_two_models(folder):
    train(folder, ["clear", "forward", "backward", "step"] * 2)


def broken(folder):
    train(folder, ["forward", "backward", "clear the model", "step"])
