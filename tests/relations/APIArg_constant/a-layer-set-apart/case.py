# SPDX-License-Identifier: Apache-2.0
"""Monte Carlo dropout: after eval() of the model the script calls train() of the layer itself. A layer that was only left in
training mode is none of that."""
from trace_writer import FORWARD, Trace

DROPOUT = "torch.nn.functional.dropout"


def forward(t, model, training, layer_training, at, ctx=None):
    t.enter(FORWARD, at=at, ctx=ctx, self={"object": "__main__.Net", "id": model["id"], "role": "root",
                                           "attrs": {"training": training}})
    t.enter("torch.nn.Dropout.forward", role="layer", self={"object": "torch.nn.Dropout", "id": 900,
                                                            "attrs": {"training": layer_training}})
    t.call(DROPOUT, args={"p": 0.5, "training": layer_training})
    t.leave()
    t.leave()


def train(folder, in_evaluation=False, is_by_hand=False):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.zero_grad(optimizer)
        forward(t, model, True, True, at="train.py:11")
        t.backward(model)
        t.step(optimizer)
        t.cut()
        if is_by_hand:
            t.call("torch.nn.Module.train", self={"object": "torch.nn.Dropout", "id": 900, "attrs": {"training": False}})
        t.stage = "evaluation"
        forward(t, model, False, in_evaluation, at="train.py:20", ctx={"grad": False})
        t.stage = "training"
        t.cut("stage")
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, in_evaluation=True, is_by_hand=True)


def broken(folder):
    train(folder, in_evaluation=True)
