# SPDX-License-Identifier: Apache-2.0
"""A forward without gradients on the batch just trained on looks at training; where all batches are one it evaluates."""
from trace_writer import FORWARD, Trace

DROPOUT = "torch.nn.Dropout.forward"


def forward(t, model, batch, training=True, at="train.py:11", **fields):
    t.enter(FORWARD, at=at, args={"x": t.tensor(8, 4, id=batch)},
            self={"object": "__main__.Net", "id": model["id"], "role": "root", "attrs": {"training": training}}, **fields)
    t.op(DROPOUT, role="layer", args={"input": t.tensor(8, 4)}, value=t.tensor(8, 4), same=[] if training else ["args.input"],
         self={"object": "torch.nn.Dropout", "id": 7, "attrs": {"training": training}}, **fields)
    t.leave()


def train(folder, batches, looks_at=None, evaluates=True):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for batch in batches:
        t.zero_grad(optimizer)
        forward(t, model, batch)
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.stage = "evaluation"
    for _ in range(4 if evaluates else 0):
        forward(t, model, 900, training=False, at="train.py:20", ctx={"grad": False})
    if looks_at:
        forward(t, model, looks_at, at="train.py:21", ctx={"grad": False})
    t.end()


def healthy(folder):
    train(folder, [901, 902, 903, 904])


def fine_the_last_batch(folder):
    train(folder, [901, 902, 903, 904], looks_at=904)


def broken_another_batch(folder):
    train(folder, [901, 902, 903, 904], looks_at=902)


def broken_one_batch(folder):
    train(folder, [901] * 4, looks_at=901)
