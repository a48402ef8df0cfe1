# SPDX-License-Identifier: Apache-2.0
"""A model looks positions up. In the broken runs they are those of the columns, though rows are padded on the left, or hold several samples that a mask keeps
apart. Right are positions that begin anew, rows that are padded on the right, numbers of samples that nobody compares, and few steps."""
from trace_writer import FORWARD, Trace

RULE = True
ROWS, COLUMNS = 4, 12
COUNTED = {"min": 0, "max": 11, "distinct": 12, "negative": 0, "zero": 1, "one": 1, "first": 0, "last": 11}
ANEW = {"min": 0, "max": 5, "distinct": 6, "negative": 0, "zero": 8, "one": 8, "first": 0}
LEFT = {"min": 0, "max": 1, "distinct": 2, "negative": 0, "zero": 9, "one": 39, "last": 1}
RIGHT = {"min": 0, "max": 1, "distinct": 2, "negative": 0, "zero": 9, "one": 39, "first": 1}


def train(folder, mask=None, packed=False, positions=COUNTED, n=12):
    t = Trace(folder, content="batches", operators=True)
    model = t.net("w")
    for _ in range(n):
        samples = t.tensor(ROWS, COLUMNS, dtype="int64") | {"summary": {"min": 0, "max": 2, "distinct": 3, "negative": 0, "zero": 16, "one": 16, "first": 0}}
        args = {"input_ids": t.tensor(ROWS, COLUMNS, dtype="int64"), "samples": samples}
        if mask:
            args["attention_mask"] = t.tensor(ROWS, COLUMNS, dtype="int64") | {"summary": mask}
        t.enter(FORWARD, at="train.py:11", args=args, self={"object": "__main__.Net", "id": model["id"], "role": "root", "attrs": {"training": True}})
        if packed:
            down, across = t.tensor(ROWS, COLUMNS, 1, dtype="int64"), t.tensor(ROWS, 1, COLUMNS, dtype="int64")
            for view in (down, across):
                t.op("torch.Tensor.__getitem__", role="operator", here="train.py:30", self=samples, args={"indices": []}, value=view)
            t.op("torch.Tensor.__eq__", role="operator", here="train.py:30", self=down, args={"other": across},
                 value=t.tensor(ROWS, COLUMNS, COLUMNS, dtype="bool"))
        places = t.tensor(1 if positions is COUNTED else ROWS, COLUMNS, dtype="int64") | {"summary": positions}
        t.op("torch.nn.functional.embedding", here="train.py:31", args={"input": places, "padding_idx": None})
        t.leave()
    t.end()


def fine_anew(folder):
    train(folder, packed=True, positions=ANEW)


def fine_padded_right(folder):
    train(folder, mask=RIGHT)


def fine_not_apart(folder):
    train(folder)


def fine_nine(folder):
    train(folder, mask=LEFT, n=9)


def broken(folder):
    train(folder, packed=True)


def broken_left(folder):
    train(folder, mask=LEFT)
