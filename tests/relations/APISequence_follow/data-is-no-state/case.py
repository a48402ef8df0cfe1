# SPDX-License-Identifier: Apache-2.0
"""What a load gives tells what it is: a data set names none of the model's variables, and nothing is restored from it. A state
that is loaded and given to nobody is reported."""
from trace_writer import Trace

TENSOR = {"tensor": "Tensor", "id": 700, "shape": [64, 4], "dtype": "float32", "device": "cpu", "requires_grad": False}


def train(folder, *names, restores=False):
    t = Trace(folder)
    model = t.net("fc.weight")
    for _ in range(3):
        t.enter("torch.load", role="load", at="train.py:4")
        t.leave(value={"dict": {name: TENSOR for name in names}})
        if restores:
            t.call("torch.nn.Module.load_state_dict", role="load", at="train.py:5")
        t.forward(model)
    t.end()


def healthy(folder):
    train(folder, "fc.weight", restores=True)


def fine(folder):
    train(folder, "images", "labels")


def broken(folder):
    train(folder, "fc.weight")
