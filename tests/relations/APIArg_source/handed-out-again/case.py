# SPDX-License-Identifier: Apache-2.0
"""A checkpoint is taken where the validation was the best, which two runs had each time: what state_dict() gives are tensors that were there
before. Who wrote them last is reported. In the broken run an average is written to what another call made."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, is_best=(True,) * 4, is_new=False):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    average, source = t.tensor(4, 4), t.tensor(4, 4)
    t.op("torch.clone", at="train.py:5", value=average)
    for is_saved in is_best:
        if is_saved:
            t.op("state_dict", at="train.py:30", value={"w": average})
        if is_new:
            average = t.tensor(4, 4)
            t.op("torch.empty", at="train.py:31", value=average)
        t.op("torch.lerp", at="train.py:32", self=average, args={"end": source})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def fine(folder):
    train(folder, is_best=(True, False, True, True))


def broken(folder):
    train(folder, is_new=True)
