# SPDX-License-Identifier: Apache-2.0
"""A process of its own answers, and is handed the weights that another trains. In the broken run they never reach its model. Where they do, where they were
handed over before training alone, where all of the weights were not read again since, where another process answers by the trained model, and where a
message is of another size, nothing is said."""
from trace_writer import Trace

RULE = True
WEIGHTS = {"a.weight": {"content": 1}, "b.weight": {"content": 2}}


def learn(folder, steps=40, answers=False):
    t = Trace(folder, rank=0, world=2, pid=100, operators=True)
    t.stage = "training"
    model = t.model("ddp.module", WEIGHTS)
    optimizer = t.optimizer(model)
    for i in range(steps):
        if answers:
            draw(t, model)
        t.train_step(model, optimizer)
    t.end()


def draw(t, model):
    t.forward(model, at="train.py:9", ctx={"grad": False}, training=False)
    t.op("torch.multinomial", role="operator", at="train.py:10", args={"num_samples": 1}, value=t.tensor(8, 1, dtype="int64"))


def answer(folder, reaches=False, size=16, rounds=40, looks=True):
    t = Trace(folder, rank=1, world=2, pid=101, operators=True)
    copy = t.model("policy", WEIGHTS)
    for i in range(rounds):
        draw(t, copy)
        t.op("torch.distributed.recv", at="train.py:20", args={"tensor": t.tensor(size), "src": 0})
        if reaches:
            t.change(copy["vars"][i % 2], inside=False)
        t.t += 20_000
        if looks:
            t.write({"type": "note", "code": "looked", "t": t.tick()})
    t.end()


def fine_that_follows(folder):
    learn(folder)
    answer(folder, reaches=True)


def fine_before_training(folder):
    learn(folder)
    answer(folder, rounds=2)


def fine_that_nobody_read(folder):
    learn(folder)
    answer(folder, looks=False)


def fine_where_the_trained_one_answers(folder):
    learn(folder, answers=True)
    answer(folder)


def fine_of_another_size(folder):
    learn(folder)
    answer(folder, size=7)


def fine_of_few_steps(folder):
    learn(folder, steps=9)
    answer(folder)


def broken(folder):
    learn(folder)
    answer(folder)


def broken_of_all_at_once(folder):
    learn(folder)
    answer(folder, size=32)
