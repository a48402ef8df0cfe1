# SPDX-License-Identifier: Apache-2.0
"""A run is resumed from a file with weights and the state of their optimizer. In the broken runs the state is not loaded: the schedule's is, or the file holds
it alone, or the optimizer has the rate and the parameters of before. Right are a state that is loaded, another stage at another rate, a roll-back of weights
alone, whose optimizer goes on, and a file that nobody trains from."""
from trace_writer import Trace

RULE = True


def state(rate=0.01):
    return {"dict": {"state": {"dict": {"0": {"dict": {}}}}, "param_groups": [{"dict": {"lr": rate, "params": [0]}}]}}


def train(t, model, optimizer, steps=4):
    for _ in range(steps):
        t.train_step(model, optimizer)


def resume(folder, loads=False, schedule=False, alone=False, rate=0.01, trains=True, begun=0, weights=True):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    train(t, model, optimizer, begun)
    if alone:
        t.op("torch.nn.Module.load_state_dict", role="load", at="train.py:60",
             self={"object": "__main__.Net", "id": model["id"], "attrs": {"training": True}})
    held = {"epoch": 3, "optimizer": state(rate), "model": {"dict": {}}, **({"scheduler": {"dict": {"last_epoch": 4}}} if schedule else {})}
    t.op("torch.load", role="load", at="train.py:61" if alone else "train.py:60", value=state(rate) if alone else {"dict": held})
    if weights and not alone:
        t.op("torch.nn.Module.load_state_dict", role="load", at="train.py:61",
             self={"object": "__main__.Net", "id": model["id"], "attrs": {"training": True}})
    if loads:
        t.op("torch.optim.Optimizer.load_state_dict", role="load", at="train.py:62", **t.on_optimizer(optimizer))
    if schedule:
        t.op("torch.optim.lr_scheduler.LRScheduler.load_state_dict", role="load", at="train.py:63",
             self={"object": "torch.optim.lr_scheduler.LambdaLR", "id": 7000, "attrs": {"last_epoch": 0}})
    if trains:
        train(t, model, optimizer)
    t.end()


def fine(folder):
    resume(folder, loads=True, schedule=True)


def fine_of_another_stage(folder):
    resume(folder, rate=0.1)


def fine_rolled_back(folder):
    resume(folder, begun=5)


def fine_read_alone(folder):
    resume(folder, schedule=True, trains=False)


def fine_without_weights(folder):
    resume(folder, weights=False)


def broken(folder):
    resume(folder, schedule=True, rate=0.1)


def broken_alone(folder):
    resume(folder, alone=True)


def broken_of_the_same_rate(folder):
    resume(folder)
