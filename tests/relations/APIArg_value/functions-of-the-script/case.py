# SPDX-License-Identifier: Apache-2.0
"""A script evaluates by a function of its own and is told by another whether to stop. In the broken run the function is given what is trained
on, and a flag that was always set is not. A score, and whether it was the best, is another in each run, and what a function decides is no fact."""
from trace_writer import Trace

OPTIONS = ["--specific"]
EVALUATE, SAVE = "__main__.evaluate", "__main__.save"


def train(folder, scores, loader="valid", keeps=True):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    train_loader, valid = t.serial(), t.serial()
    t.op("__main__.main", role="own", at="train.py:50", args={"epochs": len(scores), "loader": {
        "object": "torch.utils.data.DataLoader", "id": train_loader, "name": "train", "attrs": {}}})
    for score in scores:
        t.train_step(model, optimizer)
        serial = valid if loader == "valid" else train_loader
        given = {"object": "torch.utils.data.DataLoader", "id": serial, "name": loader, "attrs": {}}
        t.enter(EVALUATE, role="own", at="train.py:30", args={"loader": given})
        t.open.pop()  # it is around no other call
        evaluate = t.calls - 1
        t.op("torch.stack", at="train.py:20", value=t.tensor(4))
        t.write({"type": "return", "id": evaluate, "t": t.tick(), "value": [score, 40, score > 0.2]})
        t.op(SAVE, role="own", at="train.py:31", args={"is_best": score > 0.5, "keeps": keeps}, value=None)
    t.end()


def healthy(folder):
    train(folder, [0.1 * i for i in range(16)])


def healthy_too(folder):
    train(folder, [0.07 * i for i in range(16)])


def fine(folder):
    train(folder, [0.01 * i for i in range(16)])


def broken(folder):
    train(folder, [0.09 * i for i in range(16)], loader="train", keeps=False)
