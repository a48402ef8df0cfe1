# SPDX-License-Identifier: Apache-2.0
"""Answers are drawn from a copy of the model that is trained, which is given its weights from time to time. In the broken run it never is. A reference that
is only asked stays as it is; so does one that a script draws from beside the model, to compare them, and another model. Of a process of its own nothing is said."""
from trace_writer import Trace

RULE = True


def draw(t, model):
    t.forward(model, at="train.py:9", ctx={"grad": False}, training=False)
    t.op("torch.multinomial", role="operator", at="train.py:10", args={"num_samples": 1}, value=t.tensor(8, 1, dtype="int64"))


def copy_in(t, first):
    return t.model("copy", {"a.weight": {"content": first}, "b.weight": {"content": 2}})


def answer(t, copy, i, follows):
    draw(t, copy)
    if follows and i % 4 == 3:
        for v in copy["vars"]:
            t.change(v, inside=False)


def learn(t, model, optimizer):
    t.zero_grad(optimizer)
    t.forward(model)
    t.backward(model)
    t.step(optimizer)
    t.cut()


def train(folder, of=("copy",), follows=False, first=1, steps=16):
    t = Trace(folder, operators=True)
    t.stage = "training"
    model = t.model("model", {"a.weight": {"content": 1}, "b.weight": {"content": 2}})
    copy = copy_in(t, first)
    optimizer = t.optimizer(model)
    for i in range(steps):
        if "copy" in of:
            answer(t, copy, i, follows)
        else:
            t.forward(copy, at="train.py:9", ctx={"grad": False}, training=False)
        if "model" in of:
            draw(t, model)
        learn(t, model, optimizer)
    t.end()


def in_two(folder):
    train(folder, of=())
    t = Trace(folder, file="trace_host_r-_p101.jsonl", pid=101, operators=True)
    copy = copy_in(t, 1)
    for i in range(16):
        answer(t, copy, i, False)
    t.end()


def fine(folder):
    train(folder, follows=True)


def fine_of_a_reference(folder):
    train(folder, of=("model",))


def fine_of_both(folder):
    train(folder, of=("copy", "model"))


def fine_of_another_model(folder):
    train(folder, first=9)


def fine_of_few_steps(folder):
    train(folder, steps=9)


def fine_in_a_process_of_its_own(folder):
    in_two(folder)


def broken(folder):
    train(folder)
