# SPDX-License-Identifier: Apache-2.0
"""An optimizer steps masters of the weights, and copies them back. In the broken run weights are loaded, and the masters are those of before. Right are
masters that are refreshed after the load, masters without a load, and weights that were put aside, as others were loaded for an evaluation."""
from trace_writer import Trace

RULE = True


def operand(v, dtype="bfloat16"):
    return {"tensor": "Parameter", "id": v.serial, "shape": v.attrs["shape"], "dtype": dtype, "device": "cpu"}


def copy(t, to, of, at):
    t.op("torch.Tensor.copy_", role="fill", at=at, self=to, args={"src": of}, value=to)


def train(folder, loads=True, refreshes=False, steps=True):
    t = Trace(folder, operators=True)
    model = t.net("w")
    weight = model.var("w")
    master = t.loose("masters[0]")
    optimizer = t.optimizer(model, params=[master])
    t.op("torch.Tensor.float", role="operator", at="train.py:20", self=operand(weight), value=operand(master, "float32"))
    if loads:
        t.enter("torch.nn.Module.load_state_dict", role="load", at="train.py:30",
                self={"object": "__main__.Net", "id": model["id"], "attrs": {"training": True}})
        t.change(weight)
        t.leave()
    if refreshes:
        copy(t, operand(master, "float32"), operand(weight), "train.py:31")
    for _ in range(3):
        t.forward(model)
        if steps:
            t.backward(model, reaches=[master])
            t.step(optimizer)
        half = t.tensor(4, 4, dtype="bfloat16")
        t.op("torch.Tensor.to", role="operator", at="train.py:40", self=operand(master, "float32"), value=half)
        copy(t, operand(weight), half, "train.py:41")
        t.cut()
    t.end()


def fine_refreshed(folder):
    train(folder, refreshes=True)


def fine_without_a_load(folder):
    train(folder, loads=False)


def fine_put_aside(folder):
    train(folder, steps=False)


def broken(folder):
    train(folder)
