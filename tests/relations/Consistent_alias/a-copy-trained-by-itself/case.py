# SPDX-License-Identifier: Apache-2.0
"""A copy of a whole model that learns a batch by heart drifts from what it was made of, as it should: no step moves both. Two
models whose weights one optimizer steps are tied."""
from trace_writer import Trace


def train(folder, drifts=False, is_apart=False):
    t = Trace(folder)
    t.stage = "training"
    encoder = t.model("encoder", {"w": {"content": 70}, "v": {"content": 80}})
    decoder = t.model("decoder", {"v": {"content": 70}, "u": {"content": 90}})
    both = encoder.parameters + decoder.parameters
    optimizer = t.optimizer(encoder, params=decoder.parameters if is_apart else both)
    t.backward(encoder)
    for _ in range(5):
        t.zero_grad(optimizer)
        t.forward(decoder)
        t.backward(decoder)
        if not is_apart:
            t.backward(encoder)
        t.step(optimizer, changes=decoder.parameters if drifts else both)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, drifts=True, is_apart=True)


def broken(folder):
    train(folder, drifts=True)
