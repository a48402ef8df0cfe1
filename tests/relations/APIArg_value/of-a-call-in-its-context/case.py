# SPDX-License-Identifier: Apache-2.0
"""What a call is given is constant in its context, the enclosing call and the mode; what varies, or differs in a second run, is none."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, seed=1, p=0.5, features=8, requires_grad=False):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model, lr=0.1)
    t.call("torch.manual_seed", role="seed", at="train.py:3", args={"seed": seed})
    for i in range(3):
        t.zero_grad(optimizer)
        x = t.tensor(32, features) | {"requires_grad": requires_grad}
        t.enter("torch.nn.Linear.forward", role="layer", at="train.py:30", args={"input": x},
                self={"object": "torch.nn.Linear", "id": 900, "attrs": {"training": True}})
        t.op("torch.dropout", args={"input": x, "p": p, "temperature": i})
        t.leave()
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_seed(folder):
    train(folder, seed=2)


def broken(folder):
    train(folder, p=0.1, features=16, requires_grad=True)
