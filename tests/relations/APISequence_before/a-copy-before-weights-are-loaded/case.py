# SPDX-License-Identifier: Apache-2.0
"""A script loads its weights, copies the model for an average, and makes a loader: in the broken run the copy comes before the weights. It is
reported once there is a step: a process that only reads data is none of those learned from."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, is_early=False, n_steps=3):
    t = Trace(folder, operators=True)
    model = t.net("w")
    t.stage = "init"
    t.op("__main__.report", role="own", at="train.py:10")
    calls = [("torch.nn.Module.load_state_dict", "load"), ("copy.deepcopy", "package")]
    for fn, role in calls[::-1] if is_early else calls:
        t.op(fn, role=role, at="train.py:11" if role == "load" else "train.py:12")
    t.op("torch.utils.data.DataLoader.__init__", role="make", at="train.py:13")
    optimizer = t.optimizer(model)
    for _ in range(n_steps):
        t.train_step(model, optimizer)
        t.cut()
    if n_steps:
        t.end()
    else:
        t.killed()


def healthy(folder):
    train(folder)


def healthy_too(folder):
    train(folder)


def fine(folder):
    train(folder, is_early=True, n_steps=0)


def broken(folder):
    train(folder, is_early=True)
