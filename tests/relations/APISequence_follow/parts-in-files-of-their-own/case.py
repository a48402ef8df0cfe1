# SPDX-License-Identifier: Apache-2.0
"""A checkpoint of several files is loaded part by part; of one file that is loaded twice each time counts. Of files whose names are no text nobody knows
which is which, and what holds numbers alone is no state."""
from trace_writer import Trace


def resume(t, files, optimizer_too=True):
    for file, what in zip(files, ("nn.Module", "optim.Optimizer")):
        t.call("torch.load", role="load", at="train.py:4", args={"f": file})
        if optimizer_too or what == "nn.Module":
            t.call(f"torch.{what}.load_state_dict", role="load", at="train.py:5")


def train(folder, *rounds):
    t = Trace(folder)
    model = t.net("w")
    for files, optimizer_too in rounds:
        resume(t, files, optimizer_too)
        t.forward(model)
    t.end()


def healthy(folder):
    t = Trace(folder)
    model = t.net("w")
    for _ in range(2):
        t.call("torch.load", role="load", at="train.py:4", args={"f": "all.pt"})
        t.call("torch.nn.Module.load_state_dict", role="load", at="train.py:5")
        t.call("torch.optim.Optimizer.load_state_dict", role="load", at="train.py:6")
        t.forward(model)
    t.end()


def fine(folder):
    train(folder, (("model.pt", "optimizer.pt"), True))


def fine_by_paths(folder):
    path = {"object": "pathlib.PosixPath", "attrs": {}}
    t = Trace(folder)
    model = t.net("w")
    resume(t, (path, path))
    t.op("torch.load", role="load", at="train.py:9", args={"f": "meta.pt"}, value={"dict": {"step": 200}})
    t.forward(model)
    t.end()


def broken(folder):
    train(folder, (("model.pt", "optimizer.pt"), False))
