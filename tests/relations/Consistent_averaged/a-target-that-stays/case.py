# SPDX-License-Identifier: Apache-2.0
"""After each step an average of the target's weights and of the trained ones is made, and copied into the target. In the broken run it is copied into the
trained weights: the target stays as it was. Right are an average that is computed with, one of a model that is not asked, few averages, and an average that takes
more of the trained weights at first."""
from trace_writer import Trace

RULE = True


def average(t, target, trained, share, to=None, reads=False):
    """share * target + (1 - share) * trained."""
    parts = []
    for v, number in (target, share), (trained, 1 - share):
        parts.append(t.tensor(4, 4))
        t.op("torch.Tensor.mul", role="operator", at="train.py:30", ctx={"grad": False}, self=t.tensor(4, 4, id=v.serial), args={"other": number}, value=parts[-1])
    made = t.tensor(4, 4)
    t.op("torch.Tensor.add", role="operator", at="train.py:30", ctx={"grad": False}, self=parts[0], args={"other": parts[1]}, value=made)
    if reads:
        t.op("torch.nn.functional.linear", at="train.py:31", args={"input": t.tensor(2, 4), "weight": made}, value=t.tensor(2, 4))
    if to:
        t.enter("torch.Tensor.copy_", role="fill", at="train.py:32", self=t.tensor(4, 4, id=to.serial), args={"src": made})
        t.change(to)
        t.leave(value=t.tensor(4, 4, id=to.serial))


def train(folder, to="target", asks=True, steps=14, reads=False, shares=lambda step: 0.9):
    t = Trace(folder, operators=True)
    t.stage = "training"
    model, target = (t.model(name, {"a.weight": {"content": 1}}) for name in ("model", "target"))
    optimizer = t.optimizer(model)
    for step in range(steps):
        if asks:
            t.forward(target, at="train.py:9", ctx={"grad": False}, training=False)
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        average(t, target.var("a.weight"), model.var("a.weight"), shares(step),
                {"target": target, "model": model}[to].var("a.weight") if to else None, reads)
        t.cut()
    t.end()


def fine(folder):
    train(folder)


def fine_that_is_computed_with(folder):
    train(folder, to=None, reads=True)


def fine_of_a_model_that_is_not_asked(folder):
    train(folder, to="model", asks=False)


def fine_of_few_averages(folder):
    train(folder, to="model", steps=9)


def fine_with_more_of_the_trained_at_first(folder):
    train(folder, shares=lambda step: (1 + step) / (10 + step))


def broken(folder):
    train(folder, to="model")
