# SPDX-License-Identifier: Apache-2.0
"""A matrix begins at zero on purpose. In the broken run an initialiser for all layers comes after that. Biases are set to zero and drawn as one
likes, and a matrix may be set to zero after it was drawn."""
from trace_writer import Trace


def init(t, fn, id, *shape, **more):
    value = t.tensor(*shape, id=id)
    role = "fill" if fn == "zeros_" else "init"
    t.op(f"torch.nn.init.{fn}", role=role, at="train.py:5", args={"tensor": value}, value=value | more)


def build(folder, *calls):
    t = Trace(folder, content="batches")
    for fn, id, shape in calls:
        init(t, fn, id, *shape, **({"constant": 0.0} if fn == "zeros_" else {}))
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(3):
        t.train_step(model, optimizer)
    t.end()


DRAWN = [("normal_", 501, (4, 4)), ("normal_", 502, (4, 4)), ("normal_", 503, (4, 4))]


def healthy(folder):
    build(folder, *DRAWN, ("zeros_", 503, (4, 4)))


def fine_bias(folder):
    build(folder, ("zeros_", 504, (4,)), ("uniform_", 504, (4,)), *DRAWN)


def broken(folder):
    build(folder, ("zeros_", 503, (4, 4)), *DRAWN)
