# SPDX-License-Identifier: Apache-2.0
"""A call that loads weights may write them; steps that are not traced leave nothing to compare with."""
from trace_writer import Trace


def train(folder, between):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(8):
        if i == 4:
            between(t, model.var("w"))
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder, lambda t, w: None)


def fine_loads(folder):
    def load(t, w):
        t.enter("torch.nn.Module.load_state_dict", role="load")
        t.change(w)
        t.leave()

    train(folder, load)


def fine_skips_steps(folder):
    def skip(t, w):
        t.number += 3
        t.change(w, inside=False)

    train(folder, skip)


def broken(folder):
    """Something else than a load wrote it."""

    def write(t, w):
        t.enter("torch.Tensor.add_")
        t.change(w)
        t.leave()

    train(folder, write)
