# SPDX-License-Identifier: Apache-2.0
"""The next word is read at the last column of what a model says, where rows are filled up before. In the broken run they are filled up behind.
Rows of one length, another column, numbers that are no scores, and a score of rows that is looked for are right."""
from trace_writer import Trace

RULE = True
BEFORE = {"min": 0, "max": 1, "zero": 12, "one": 28, "last": 1}
BEHIND = {"min": 0, "max": 1, "zero": 12, "one": 28, "first": 1}
LAST = [{"object": "slice", "attrs": {}}, -1]


def generate(folder, mask=BEHIND, index=LAST, shape=(4, 10, 18), n=6, **more):
    t = Trace(folder, content="batches", operators=True)
    model = t.net("w")
    for _ in range(n):
        t.forward(model, args={"input_ids": t.tensor(4, 10, dtype="int64"),
                               "attention_mask": t.tensor(4, 10, dtype="int64") | {"summary": mask}})
        t.op("torch.Tensor.__getitem__", role="operator", at="generate.py:9", self=t.tensor(*shape) | more, args={"index": index},
             value=t.tensor(4, 18))
    t.end()


def fine(folder):
    generate(folder, mask=BEFORE)


def fine_of_one_length(folder):
    generate(folder, mask={"min": 1, "max": 1, "zero": 0, "one": 40, "first": 1, "last": 1})


def fine_at_the_first(folder):
    generate(folder, index=[{"object": "slice", "attrs": {}}, 0])


def fine_of_words(folder):
    generate(folder, shape=(4, 10), summary={"min": 0, "max": 17})


def fine_of_another_length(folder):
    generate(folder, shape=(4, 11, 18))


def fine_twice(folder):
    generate(folder, n=2)


def broken(folder):
    generate(folder)
