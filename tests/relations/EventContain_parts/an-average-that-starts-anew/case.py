# SPDX-License-Identifier: Apache-2.0
"""A run saves its model, its optimizer and an average, and goes on from that. In the broken run nothing of the average is loaded. What was no state when it
was saved may be used by the script itself; and who loads the model alone begins another training."""
from trace_writer import Trace

NAMES = ("model", "optimizer", "average")


def state(t, first):
    return {"dict": {"w": t.tensor(4, 4, id=first), "inner": {"dict": {"0": t.tensor(4, id=first + 1)}}}}


def run(folder, loaded, taken=NAMES, names=NAMES):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    t.train_step(model, optimizer)
    for i, name in enumerate(NAMES):
        if name in taken:
            t.op("torch.nn.Module.state_dict", role="save", at="train.py:30", value=state(t, 600 + 10 * i))
    checkpoint = {"dict": {"epoch": 1, **{name: state(t, 600 + 10 * i) for i, name in enumerate(names)}}}
    t.op("torch.save", role="save", at="train.py:31", args={"obj": checkpoint})
    read = {name: state(t, 700 + 10 * i) for i, name in enumerate(names)}
    t.op("torch.load", role="load", at="train.py:32", value={"dict": {"epoch": 1, **read}})
    for name in loaded:
        t.op("torch.nn.Module.load_state_dict", role="load", at="train.py:33", args={"state_dict": read[name]})
    for _ in range(3):
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    run(folder, NAMES)


def fine_model_alone(folder):
    run(folder, ("model",))


def fine_no_state(folder):
    run(folder, ("model", "optimizer"), taken=("model", "optimizer"))


def broken(folder):
    run(folder, ("model", "optimizer"))
