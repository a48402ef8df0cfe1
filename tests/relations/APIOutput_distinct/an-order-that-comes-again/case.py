# SPDX-License-Identifier: Apache-2.0
"""Four scripts draw the order of each epoch. In the broken run a generator is seeded in each, so that all have one order. Another training,
with an optimizer of its own, may be seeded as the one before; what was loaded goes on within an epoch, whose order is drawn again; an
evaluation may look at the same rows each time, also where gradients are off alone; and a backward computes again what a forward drew.
What data are made by, as a table, may be drawn by one seed each time."""
from trace_writer import Trace

PIPELINES = 4


def draw(t, content, function="randperm", n=64, distinct=64, **fields):
    value = t.tensor(n, dtype="int64") | {"digest": f"{content:016x}", "summary": {"distinct": distinct}}
    t.op("torch." + function, at="train.py:7", args={"n": n}, value=value, **fields)


def epochs(t, contents, model=None, **fields):
    model = model or t.net("fc")
    adam = t.optimizer(model)
    for content in contents:
        draw(t, content, **fields)
        draw(t, 1, function="arange")
        for _ in range(2):
            t.train_step(model, adam)
    return model, adam


def run(folder, *parts, **fields):
    t = Trace(folder)
    for part in parts:
        epochs(t, part, **fields)
    t.end()


def healthy(folder, i):
    run(folder, [10 * i + 2, 10 * i + 3, 10 * i + 4])


def fine_second_training(folder):
    run(folder, [2, 3], [2, 3])


def fine_few(folder):
    run(folder, [2, 2, 2], n=12, distinct=12)


def fine_table(folder):
    t = Trace(folder)
    model, adam = epochs(t, [2])
    for _ in range(3):
        table = t.tensor(3, 64, dtype="int64") | {"digest": f"{7:016x}", "summary": {"distinct": 20}}
        t.op("torch.randperm", at="data.py:3", args={"n": 64}, value=table)
        t.train_step(model, adam)
    t.end()


def fine_flags(folder):
    run(folder, [2, 2, 2], distinct=2)


def fine_resumed(folder):
    t = Trace(folder)
    model, adam = epochs(t, [2])
    t.op("torch.nn.Module.load_state_dict", role="load", at="train.py:5", value=[[], []])
    draw(t, 2)
    t.train_step(model, adam)
    t.end()


def fine_without_gradients(folder):
    """An evaluation whose script does not say that it is one."""
    run(folder, [2, 2, 2], ctx={"grad": False})


def fine_in_evaluation(folder):
    t = Trace(folder)
    model, adam = epochs(t, [2])
    for _ in range(3):
        t.stage = "evaluation"
        draw(t, 5)
        t.evaluate(model)
        t.stage = "training"
        t.train_step(model, adam)
    t.end()


def fine_computed_again(folder):
    t = Trace(folder)
    model = t.net("fc")
    adam = t.optimizer(model)
    for i in range(3):
        t.zero_grad(adam)
        t.forward(model)
        draw(t, 50 + i)
        t.backward(model, hook=lambda: draw(t, 50))
        t.step(adam)
        t.cut()
    t.end()


def broken(folder):
    run(folder, [2, 2, 2])
