# SPDX-License-Identifier: Apache-2.0
"""A function of the script is given weights that an inner step has made; in the broken run it is given the old ones."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, given="fast"):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    weight = {**t.tensor(4), "id": model.parameters[0].serial, "tensor": "Parameter"}
    for _ in range(5):
        fast = t.tensor(4)
        t.call("__main__.loss", role="own", at="train.py:19", args={"params": {"dict": {"w": weight}}})
        t.op("torch.Tensor.sub", role="operator", at="train.py:20", value=fast, self=weight, args={"other": t.tensor(4)})
        t.call("__main__.loss", role="own", at="train.py:21",
               args={"params": {"dict": {"w": fast if given == "fast" else weight}}})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def broken(folder):
    train(folder, given="old")
