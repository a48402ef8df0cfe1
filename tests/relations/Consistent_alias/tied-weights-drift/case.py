# SPDX-License-Identifier: Apache-2.0
"""Two embeddings start equal; from step 2 on only one of them is trained."""
from trace_writer import Trace


def train(folder, drifts_from=99):
    t = Trace(folder)
    t.stage = "training"
    model = t.model("model", {"embed": {"content": 70}, "head": {"content": 70}, "other": {}})
    optimizer = t.optimizer(model)
    for i in range(6):
        changes = [v for v in model.parameters if i < drifts_from or v is not model.var("head")]
        t.train_step(model, optimizer, changes)
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, drifts_from=2)
