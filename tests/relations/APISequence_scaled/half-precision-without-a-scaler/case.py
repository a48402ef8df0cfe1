# SPDX-License-Identifier: Apache-2.0
"""A model is trained under autocast to float16, with a gradient scaler. In the broken run there is none. bfloat16 needs none, a forward in evaluation
is not trained, and a library that steps scales by itself."""
from trace_writer import Trace

RULE = True


def train(folder, dtype="float16", scaler=False, evaluation=False, library=False):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.zero_grad(optimizer)
        t.forward(model, ctx=None if evaluation else {"autocast": {"cuda": dtype}})
        if evaluation:
            t.forward(model, ctx={"grad": False, "autocast": {"cuda": dtype}})
        t.backward(model)
        if library:
            t.enter("deepspeed.DeepSpeedEngine.step", role="library", at="train.py:13")
        if scaler:
            t.scaler_step(optimizer)
        else:
            t.step(optimizer)
        if library:
            t.leave()
        t.cut()
    t.end()


def fine(folder):
    train(folder, scaler=True)


def fine_in_bfloat16(folder):
    train(folder, dtype="bfloat16")


def fine_in_evaluation(folder):
    train(folder, evaluation=True)


def fine_in_a_library(folder):
    train(folder, library=True)


def broken(folder):
    train(folder)
