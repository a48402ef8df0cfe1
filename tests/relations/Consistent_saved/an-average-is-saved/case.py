# SPDX-License-Identifier: Apache-2.0
"""A model is saved while an average is in its place, and another one goes on from that with the state of the optimizer. In the broken run it is trained. Right are
weights that were put back before, an average that is evaluated alone, one that a fresh optimizer trains, and a model that is saved as a load has left it."""
from trace_writer import Trace

RULE = True


def copy_in(t, model, contents):
    """Other contents, by a line of the script."""
    for v, content in zip(t.parameters(model), contents):
        t.set(v, inside=False, data=content)


def contents(t, model):
    return [v.attrs["data"] for v in t.parameters(model)]


def state_of(model):
    return {"object": "__main__.Net", "id": model["id"], "attrs": {"training": True}}


def train(folder, put_back=False, trains=True, fresh=False, average=True):
    t = Trace(folder, content="batches")
    model = t.net("a.weight", "b.weight")
    first = t.optimizer(model)
    for _ in range(3):
        t.train_step(model, first)
    trained = contents(t, model)
    if average:
        copy_in(t, model, ["00000000000000a1", "00000000000000a2"])
        t.evaluate(model)
    if put_back:
        copy_in(t, model, trained)
    t.call("torch.nn.Module.state_dict", role="save", at="train.py:40", self=state_of(model))
    saved = contents(t, model)
    other = t.net("a.weight", "b.weight")
    second = t.optimizer(other)
    t.enter("torch.nn.Module.load_state_dict", role="load", at="train.py:50", self=state_of(other))
    for v, content in zip(t.parameters(other), saved):
        t.set(v, data=content)
    t.leave()
    if not fresh:
        t.call("torch.optim.Optimizer.load_state_dict", role="load", at="train.py:51", self=t.on_optimizer(second)["self"])
    for _ in range(2):
        t.train_step(other, second) if trains else t.evaluate(other)
    t.end()


def fine(folder):
    train(folder, put_back=True)


def fine_evaluated(folder):
    train(folder, trains=False)


def fine_fresh_optimizer(folder):
    train(folder, fresh=True)


def fine_as_trained(folder):
    train(folder, average=False)


def broken(folder):
    train(folder)
