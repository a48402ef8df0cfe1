# SPDX-License-Identifier: Apache-2.0
"""Weights are loaded, then a head alone is initialised. In the broken run the initialiser is applied to all that was loaded. A load after
the initialiser, and one that follows another, are what they are for; biases do not count."""
from trace_writer import Trace

LOAD, COPY, INIT = "torch.nn.Module.load_state_dict", "torch.Tensor.copy_", "torch.nn.init.normal_"


def weight(v, *shape):
    return {"tensor": "Parameter", "id": v.serial, "shape": list(shape), "dtype": "float32", "device": "cpu"}


def load(t, *weights):
    t.enter(LOAD, role="load", at="train.py:5")
    for w in weights:
        t.op(COPY, role="fill", self=w, args={"src": t.tensor(*w["shape"])})
    t.leave(value=[[], []])


def train(folder, again=("head",), first=False, twice=False):
    t = Trace(folder)
    model = t.net("body", "head", "bias")
    body, head = weight(model.var("body"), 4, 4), weight(model.var("head"), 2, 4)
    bias = weight(model.var("bias"), 4)
    if not first:
        load(t, body, head, bias)
    for name, w in (("body", body), ("head", head)):
        if name in again:
            t.op(INIT, role="init", at="train.py:7", args={"tensor": w, "std": 0.1})
    if first or twice:
        load(t, body, head, bias)
    optimizer = t.optimizer(model)
    for _ in range(3):
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder)


def healthy_first(folder):
    train(folder, again=("body", "head"), first=True)


def fine_loaded_again(folder):
    train(folder, again=("body", "head"), twice=True)


def broken(folder):
    train(folder, again=("body", "head"))
