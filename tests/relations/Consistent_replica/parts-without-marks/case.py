# SPDX-License-Identifier: Apache-2.0
"""Each of two ranks has a part of `half` of its own from the start, as tensor parallelism by hand has, and nothing on it says so. The rest
is the same on both, until one of the ranks drifts. A bias of the same module that began as zeros, as others did on the lowest rank, may be
a part, whichever rank is read first. Where nothing is the same on both, nobody has seen to it."""
from trace_writer import Trace


def rank(folder, number, parts=True, drifts_from=None, alone=False, bias=None, norm=9, pid=None):
    t = Trace(folder, rank=number, world=2, pid=pid or number + 1)
    spec = {"half": {"content": 7 + number * parts}}
    spec |= {} if alone else {"w": {"content": 77}}
    spec |= {f"{bias}.b": {"content": 9}, "norm.b": {"content": norm}, "mlp.half": spec["half"]} if bias else {}
    model = t.model("model", spec)
    optimizer = t.optimizer(model)
    for i in range(6):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        if drifts_from is not None and i >= drifts_from and number == 1:
            t.change(model.var(f"{bias}.b" if bias else "w"), inside=False)
        t.cut()
    t.end()


def healthy(folder):
    for number in range(2):
        rank(folder, number, parts=False)


def fine(folder):
    for number in range(2):
        rank(folder, number)


def fine_bias_of_a_part(folder):
    for number in range(2):
        rank(folder, number, drifts_from=0, bias="mlp")


def fine_bias_where_rank_1_is_read_first(folder):
    for number in range(2):
        rank(folder, number, drifts_from=0, bias="mlp", norm=9 - number, pid=2 - number)


def broken(folder):
    for number in range(2):
        rank(folder, number, drifts_from=2)
