# SPDX-License-Identifier: Apache-2.0
"""Three blocks of one class are computed once more in the backward; in the broken run the last one thrice. Counts of the class are as
they were: those of each module are reported."""
from trace_writer import Trace

OPTIONS = ["--specific"]
LINEAR = "torch.nn.functional.linear"
BLOCKS = ("0", "1", "2")


def train(folder, again=BLOCKS):
    t = Trace(folder)
    model = t.net(*[f"blocks.{i}.weight" for i in BLOCKS])
    optimizer = t.optimizer(model)
    for _ in range(4):
        for i in (*BLOCKS, *again):
            weight = {**t.tensor(4, 4, id=model.var(f"blocks.{i}.weight").serial), "tensor": "Parameter"}
            t.op(LINEAR, at="train.py:20", value=t.tensor(4), args={"input": t.tensor(4), "weight": weight})
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, again=("2", "2", "2"))
