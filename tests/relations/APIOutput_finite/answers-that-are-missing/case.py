# SPDX-License-Identifier: Apache-2.0
"""A batch, or data that a script prepares outside of a model, may mark by a NaN what is not known; what is computed of it is a number all the same,
but in the broken run."""
from trace_writer import Trace


def train(folder, batches=(), losses=(), tables=()):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(5):
        t.op("torch.stack", at="train.py:8", value={**t.tensor(8), "requires_grad": False}, finite=i not in tables)
        t.enter("torch.utils.data.DataLoader.__next__", at="train.py:10")
        t.op("torch.stack", value=t.tensor(8), finite=i not in batches)
        t.leave(value=t.tensor(8))
        t.op("torch.stack", at="train.py:12", value=t.tensor(8), finite=i not in losses)
        t.op("torch.nn.functional.mse_loss", at="train.py:11", value=t.tensor(), finite=i not in losses)
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, batches=[1, 3])


def fine_prepared(folder):
    train(folder, tables=[0, 3])


def broken(folder):
    train(folder, batches=[3], losses=[3])
