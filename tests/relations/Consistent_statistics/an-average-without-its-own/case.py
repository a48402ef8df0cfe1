# SPDX-License-Identifier: Apache-2.0
"""An average of the weights is evaluated, with statistics that are copied, or made by a pass over data. In the broken run its weights move
and its statistics stay. A model that an optimizer steps is no average, nor is one that stays as it is; what no forward writes to is no statistic. Weights that a load wrote before anything was recorded
their statistics say nothing of these: it may have written both."""
from trace_writer import Trace

NORM = "torch.nn.BatchNorm1d"


def variables(content):
    return {"fc.weight": {"content": content}, "bn.running_mean": {"kind": "buffer", "content": content + 1, "owner": NORM},
            "pe": {"kind": "buffer", "content": content + 2, "owner": "__main__.Positions"}}


def train(folder, moves=True, follows=True, by_hand=True):
    t = Trace(folder)
    t.stage = "training"
    model, average = t.model("model", variables(100)), t.model("average", variables(200), training=False)
    optimizer = t.optimizer(model)
    for _ in range(6):
        t.zero_grad(optimizer)
        t.forward(model, changes=("bn.running_mean",))
        t.backward(model)
        t.step(optimizer)
        if moves:
            t.change(average.var("fc.weight"), inside=False)
        if follows and by_hand:
            t.change(average.var("bn.running_mean"), inside=False)
        elif follows:
            t.forward(average, changes=("bn.running_mean",), training=True, ctx={"grad": False})
        t.cut()
        t.evaluate(average)
        t.evaluate(model)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_by_a_pass(folder):
    train(folder, by_hand=False)


def fine_that_was_loaded(folder):
    t = Trace(folder)
    t.stage = "training"
    model, weight = t.model("model", variables(100)), t.loose("optimizer.param_groups[0][0]")
    t.train_step(model, t.optimizer(model))
    t.forward(model, changes=("bn.running_mean",))
    t.enter("torch.nn.Module.load_state_dict", role="load")
    t.change(weight)
    t.leave()
    again = t.model("again", variables(300), training=False)
    weight.name, weight.root = "again.bn.weight", again["id"]
    t.own(weight)
    t.evaluate(again)
    t.end()


def fine_that_stays(folder):
    train(folder, moves=False, follows=False)


def broken(folder):
    train(folder, follows=False)
