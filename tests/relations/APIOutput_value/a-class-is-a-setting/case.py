# SPDX-License-Identifier: Apache-2.0
"""Of which class an object is that a function of the script makes is a choice, as a search may draw it: reported as a setting, behind what breaks a law.
That it returns a tensor is a law."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, name="torch.optim.Adam", n_scores=1):
    t = Trace(folder)
    t.op("__main__.choose", role="own", at="train.py:5", value={"object": name, "attrs": {}})
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(8):
        t.op("__main__.score", role="own", at="train.py:9", value=t.tensor(4, id=900) if n_scores else 0.5)
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_too(folder):
    train(folder)


def broken(folder):
    train(folder, name="torch.optim.RMSprop", n_scores=0)
