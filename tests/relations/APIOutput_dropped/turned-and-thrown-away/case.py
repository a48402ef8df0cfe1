# SPDX-License-Identifier: Apache-2.0
"""A picture is turned round by a function that returns another one. In the broken run a statement drops it. Right are a result that is used, another call at
that line, a call at another line, a call that warms up, and a source that nobody has read."""
from trace_writer import Trace

RULE = True
FLIP = "numpy.fliplr"


def train(folder, drops="fliplr", line=20, steps=4, calls=4, told=True):
    t = Trace(folder, operators=True)
    if told:
        t.write({"type": "source", "at": "train.py", "digest": "00000000000000aa", "text": "pass\n", "unread": {f"train.py:{line}": {drops: True}}})
    model = t.net("w")
    optimizer = t.optimizer(model)
    for step in range(steps):
        if step < calls:
            t.op(FLIP, role="package", at="train.py:20", args={"m": {"array": "ndarray", "id": t.serial(), "shape": [4, 4], "dtype": "float32"}},
                 value={"array": "ndarray", "id": t.serial(), "shape": [4, 4], "dtype": "float32"})
        t.train_step(model, optimizer)
    t.end()


def fine(folder):
    train(folder, line=99)


def fine_of_another_name(folder):
    train(folder, drops="copy")


def fine_to_warm_up(folder):
    train(folder, calls=2)


def fine_untold(folder):
    train(folder, told=False)


def broken(folder):
    train(folder)
