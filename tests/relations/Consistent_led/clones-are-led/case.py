# SPDX-License-Identifier: Apache-2.0
"""A target answers, and a line leads weights after the trained ones in each step. In the broken run these are clones that nothing reads, and the target
stays as it was. Led weights of the target itself, an average beside a reference that is read in the end or saved, another shape, and few steps are right."""
from trace_writer import Trace

RULE = True


def lead(t, serial, weight, shape=(4, 4)):
    t.op("torch.Tensor.lerp_", role="operator", at="train.py:108", self=t.tensor(*shape, id=serial),
         args={"end": t.tensor(*shape, id=weight.serial), "weight": 0.1}, value=t.tensor(*shape, id=serial))


def train(folder, leads="clone", end=None, shape=(4, 4), steps=14):
    t = Trace(folder, operators=True)
    t.stage = "training"
    model, target = t.model("model", {"a.weight": {"content": 1}}), t.model("target", {"a.weight": {"content": 1, "shape": [*shape]}})
    weight, of_target = model.var("a.weight"), target.var("a.weight")
    weight.attrs["is_leaf"] = True
    clone = t.serial() if leads == "clone" else of_target.serial
    optimizer = t.optimizer(model)
    for _ in range(steps):
        t.forward(target, at="train.py:9", ctx={"grad": False}, training=False)
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        lead(t, clone, weight)
        if leads == "target":
            t.change(of_target, inside=False)
        t.cut()
    if end == "read":
        t.op("torch.nn.functional.linear", at="train.py:120", args={"input": t.tensor(2, 4), "weight": t.tensor(4, 4, id=clone)},
             value=t.tensor(2, 4))
    elif end == "saved":
        t.call("torch.save", role="save", at="train.py:120")
    t.end()


def fine(folder):
    train(folder, leads="target")


def fine_read_in_the_end(folder):
    train(folder, end="read")


def fine_saved_in_the_end(folder):
    train(folder, end="saved")


def fine_of_another_shape(folder):
    train(folder, shape=(8, 4))


def fine_of_few_steps(folder):
    train(folder, steps=9)


def broken(folder):
    train(folder)
