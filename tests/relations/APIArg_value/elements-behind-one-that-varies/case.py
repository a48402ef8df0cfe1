# SPDX-License-Identifier: Apache-2.0
"""Lists of words of several lengths. What stands behind an element that varies stands there by chance; the first one is always the same, but
in the broken run."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, lists, first=0):
    t = Trace(folder)
    for words in lists:
        t.call("__main__.align", role="own", at="train.py:8", args={"words": [first, *words, -1]})
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder, [[1, 2, 3, 7], [2, 1, 3, 7, 8], [2, 2]])


def healthy_again(folder):
    train(folder, [[1, 1, 3, 7, 9], [2, 4, 3], [2, 2, 3, 7]])


def fine(folder):
    train(folder, [[1, 2, 4, 8, 1], [2, 1, 3, 7], [5, 1]])


def broken(folder):
    train(folder, [[1, 2, 3, 7], [2, 1, 3]], first=5)
