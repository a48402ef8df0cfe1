# SPDX-License-Identifier: Apache-2.0
"""A student learns what its teacher says, which begins as its copy: in two steps both say the same. In the broken run they do in each. A loss that is
only told, one number, and steps in between that differ say nothing."""
from trace_writer import Trace

RULE = True
SAME = [["args.input", "args.target"]]


def train(folder, equal=(), alias=False, trains=True, shape=(8, 4)):
    t = Trace(folder)
    for i in range(6):
        how = {"equal": SAME if i in equal and not alias else [], "alias": SAME if i in equal and alias else None}
        t.op("torch.nn.functional.mse_loss", at="train.py:8", value=t.tensor() | {"requires_grad": trains}, **how,
             args={"input": t.tensor(*shape) | {"requires_grad": trains}, "target": t.tensor(*shape), "reduction": "mean"})
    t.end()


def fine(folder):
    train(folder, equal=(0, 1))


def fine_now_and_then(folder):
    train(folder, equal=(0, 1, 3, 4))


def fine_that_is_told(folder):
    train(folder, equal=range(6), trains=False)


def fine_of_one_number(folder):
    train(folder, equal=range(6), shape=(1,))


def broken(folder):
    train(folder, equal=range(6))


def broken_by_an_alias(folder):
    train(folder, equal=range(6), alias=True)
