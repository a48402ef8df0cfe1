# SPDX-License-Identifier: Apache-2.0
"""Two scripts take a copy of the weights, train on and put the copy back. In the broken run the state dict is kept as it is: it refers to
the weights. One that is taken and loaded at once is loaded in vain, and does no harm."""
from trace_writer import Trace

MODULE = "torch.nn.Module."


def train(folder, is_reference=False, trains_on=True):
    t = Trace(folder)
    model = t.net("w", "v")
    optimizer = t.optimizer(model)
    t.train_step(model, optimizer)
    t.op(MODULE + "state_dict", role="save", at="train.py:5")
    for _ in range(2 * trains_on):
        t.train_step(model, optimizer)
    t.enter(MODULE + "load_state_dict", role="load", at="train.py:7")
    for v in model.parameters:
        kept = t.tensor(4, 4, id=v.serial if is_reference else None)
        t.op("torch.Tensor.copy_", role="fill", self=t.tensor(4, 4, id=v.serial) | {"tensor": "Parameter"}, args={"src": kept})
        if not is_reference:
            t.change(v)
    t.leave(value=[[], []])
    t.end()


def healthy(folder):
    train(folder)


def healthy_second(folder):
    train(folder)


def fine_in_vain(folder):
    train(folder, is_reference=True, trains_on=False)


def broken(folder):
    train(folder, is_reference=True)
