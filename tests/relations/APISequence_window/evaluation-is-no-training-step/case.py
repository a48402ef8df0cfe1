# SPDX-License-Identifier: Apache-2.0
"""Windows without an optimizer step are not judged."""
from trace_writer import Trace


def train(folder, evaluations):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.train_step(model, optimizer)
        for _ in range(evaluations):
            t.evaluate(model)
            t.cut("stage")
    t.end()


def healthy(folder):
    train(folder, evaluations=0)


def fine(folder):
    train(folder, evaluations=3)
