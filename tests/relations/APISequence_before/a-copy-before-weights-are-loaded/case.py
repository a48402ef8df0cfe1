# SPDX-License-Identifier: Apache-2.0
"""A script loads its weights, copies the model for an average, and makes a loader: in the broken run the copy comes before the weights. Operators
have no part in the order, nor have functions of the script."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, is_early=False, turned=False):
    t = Trace(folder, operators=True)
    model = t.net("w")
    loose = [("torch.Tensor.add", "operator"), ("__main__.report", "own")]
    for fn, role in loose if turned else loose[::-1]:
        t.op(fn, role=role, at="train.py:10")
    calls = [("torch.nn.Module.load_state_dict", "load"), ("copy.deepcopy", "package")]
    for fn, role in calls[::-1] if is_early else calls:
        t.op(fn, role=role, at="train.py:11" if role == "load" else "train.py:12")
    t.op("torch.utils.data.DataLoader.__init__", role="make", at="train.py:13")
    optimizer = t.optimizer(model)
    for _ in range(3):
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_too(folder):
    train(folder)


def fine(folder):
    train(folder, turned=True)


def broken(folder):
    train(folder, is_early=True)
