# SPDX-License-Identifier: Apache-2.0
"""After the model's state that of the optimizer is loaded, before the model runs again."""
from trace_writer import Trace


def train(folder, optimizer_too=True, epochs=2):
    t = Trace(folder)
    model = t.net("w")
    for _ in range(epochs):
        t.call("torch.nn.Module.load_state_dict", role="load", at="train.py:5")
        if optimizer_too:
            t.call("torch.optim.Optimizer.load_state_dict", role="load", at="train.py:6")
        t.forward(model)
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, optimizer_too=False)
