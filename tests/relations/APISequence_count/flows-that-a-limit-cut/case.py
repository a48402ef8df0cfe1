# SPDX-License-Identifier: Apache-2.0
"""Of one operator 256 calls at a place are recorded in a step. A data set is made of many, of which it is drawn what each comes from: of how many
that is recorded says nothing. Of fewer it does."""
from trace_writer import Trace

OPTIONS = ["--specific"]
WRITE, READ, FILL = "torch.Tensor.__setitem__", "torch.Tensor.__getitem__", "torch.Tensor.index_fill"


def train(folder, n_read=131, n=256):
    t = Trace(folder, operators=True)
    made = {}
    for fn in READ, FILL:
        made[fn] = [t.tensor(4) for _ in range(n)]
        for row in made[fn]:
            t.op(fn, role="operator", at="train.py:8", value=row, self=t.tensor(9, 4))
    for i in range(n):
        t.op(WRITE, role="operator", at="train.py:9", self=made[READ if i < n_read else FILL][i], args={"index": 1, "value": 1})
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def fine(folder):
    train(folder, n_read=127)
