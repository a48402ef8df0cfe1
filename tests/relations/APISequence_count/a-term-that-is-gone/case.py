# SPDX-License-Identifier: Apache-2.0
"""Two products, of a ratio and of a clamped ratio; in the broken run both are of the ratio. Of a batch of four tensors each is known by its
place; in the broken run the third is taken for the fourth, in every second step."""
from trace_writer import Trace

OPTIONS = ["--specific"]
MUL, CLAMP, LOOK = "torch.Tensor.mul", "torch.clamp", "torch.look"


def train(folder, steps=4, is_broken=False):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for step in range(steps):
        batch = [t.tensor(4) for _ in range(4)]
        for x in batch:
            t.op("torch.tensor", at="train.py:20", value=x)
        ratio, clamped = t.tensor(4), t.tensor(4)
        t.op("torch.exp", at="train.py:21", value=ratio, args={"input": batch[0]})
        t.op(CLAMP, at="train.py:22", value=clamped, args={"input": ratio})
        for x in (ratio, ratio if is_broken else clamped):
            t.op(MUL, role="operator", at="train.py:23", value=t.tensor(4), self=x, args={"other": batch[1]})
        if step % 2:
            t.op(LOOK, at="train.py:24", args={"next": batch[2 if is_broken else 3]})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_longer(folder):
    train(folder, steps=20)


def fine_shorter(folder):
    train(folder, steps=3)


def broken(folder):
    train(folder, steps=8, is_broken=True)
