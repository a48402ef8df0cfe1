# SPDX-License-Identifier: Apache-2.0
"""What backward is given is more than the loss by a further term, which may be zero in a step of another run: that it is no simple
multiple of the loss is no fact."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, terms=(0.7, 0.3, 0.9)):
    t = Trace(folder, schema=3, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for term in terms:
        t.zero_grad(optimizer)
        t.op("torch.loss", value={**t.tensor(), "requires_grad": True, "value": 1.3}, at="train.py:30")
        t.enter("torch.Tensor.backward", at="train.py:12", self={**t.tensor(), "requires_grad": True, "value": 1.3 + term})
        for v in model.parameters:
            t.set(v, grad="non_zero")
        t.leave(finite=True)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, terms=(0.7, 0.0, 0.9))
