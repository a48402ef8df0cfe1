# SPDX-License-Identifier: Apache-2.0
"""An engine of two micro-batches a step shards its gradients, and counts in its step(). In the broken run the script counts as well, and calls step() after
each second backward: of four micro-batches the last counts. An engine that shards nothing adds them all up, and so does one whose script says where a window
ends, or one that leaves windows to the script; of one that sums up losses before a backward there is one each."""
from trace_writer import Trace

RULE = True
ENGINE = "deepspeed.DeepSpeedEngine"


def train(folder, stage=2, each=1, window=2, says=False, managed=None, rounds=16):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    engine = {"object": ENGINE, "id": t.serial()}
    config = {"gradient_accumulation_steps": window, "zero_optimization": {"dict": {"stage": stage}}}
    if managed is not None:
        config["managed_gradient_accumulation"] = managed
    t.op("deepspeed.initialize", role="library", at="train.py:3", args={"config": {"dict": config}}, value=[engine, None])
    steps = 0
    for i in range(rounds):
        me = engine | {"attrs": {"micro_steps": steps, "training": True}}
        if says:
            t.op(ENGINE + ".set_gradient_accumulation_boundary", role="library", at="train.py:10", self=me,
                 args={"is_boundary": i % each == each - 1})
        t.forward(model, at="train.py:11")
        t.enter(ENGINE + ".backward", role="library", at="train.py:12", self=me, args={"loss": t.tensor()})
        t.backward(model)
        t.leave()
        if i % each == each - 1:
            t.enter(ENGINE + ".step", role="library", at="train.py:13", self=me)
            if (steps + 1) % window == 0 or says or managed is False:
                t.step(optimizer)
            t.leave()
            t.cut()
            steps += 1
    t.end()


def fine(folder):
    train(folder)


def fine_that_shards_nothing(folder):
    train(folder, stage=0, each=2)


def fine_that_says_where(folder):
    train(folder, each=4, says=True)


def fine_that_leaves_it_to_the_script(folder):
    train(folder, each=4, managed=False)


def fine_twice(folder):
    train(folder, each=2, rounds=8)


def broken(folder):
    train(folder, each=2)


def broken_without_a_window(folder):
    train(folder, each=2, window=1, rounds=8)
