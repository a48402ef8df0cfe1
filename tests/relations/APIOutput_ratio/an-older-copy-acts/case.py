# SPDX-License-Identifier: Apache-2.0
"""A copy of the policy acts, and is given new weights now and then. In the broken run the policy is compared with itself: the ratio is one throughout. Right
are a copy that is as new as the policy, a policy that acts itself, a copy from which nobody draws, as a reference, and ratios that move."""
from trace_writer import Trace

RULE = True


def train(folder, follows=False, acts="copy", moves=False, steps=6):
    t = Trace(folder, content="batches", operators=True)
    t.stage = "training"
    shape = {"w": {"content": 70, "shape": [8, 8]}}
    model, copy = t.model("model", shape), t.model("copy", {"w": {"content": 70, "shape": [8, 8], "requires_grad": False}})
    optimizer = t.optimizer(model)
    for step in range(steps):
        t.forward(model if acts == "model" else copy, ctx={"grad": False}, at="train.py:20", value=t.tensor(16, 4))
        if acts:
            t.op("torch.multinomial", role="operator", at="train.py:21", args={"input": t.tensor(16, 4)}, value=t.tensor(16, 1, dtype="int64"))
        t.zero_grad(optimizer)
        t.forward(model, args={"x": t.tensor(16, 4) | {"digest": f"beef{step:012x}"}}, value=t.tensor(16, 4) | {"requires_grad": True})
        is_one = not moves or not step
        zeros = t.tensor(16) | {"requires_grad": True} | ({"constant": 0.0} if is_one else {})
        ones = t.tensor(16) | {"requires_grad": True} | ({"constant": 1.0} if is_one else {})
        t.op("torch.Tensor.exp", role="operator", at="train.py:14", self=zeros, value=ones)
        t.backward(model)
        t.step(optimizer)
        if follows:
            t.enter("torch.nn.Module.load_state_dict", role="load", at="train.py:30",
                    self={"object": "__main__.Net", "id": copy["id"], "attrs": {"training": False}})
            copy.var("w").version = model.var("w").version - 1
            t.change(copy.var("w"))
            t.leave()
        t.cut()
    t.end()


def fine(folder):
    train(folder, moves=True)


def fine_as_new(folder):
    train(folder, follows=True)


def fine_itself(folder):
    train(folder, acts="model")


def fine_a_reference(folder):
    train(folder, acts=None)


def broken(folder):
    train(folder)
