"""Two groups of two ranks: each rank holds one half of w, ranks 0 and 2 the same. From the third step on rank 3 drifts."""
from trace_writer import Trace


def rank(folder, number, sharded=True, drifts_from=None):
    t = Trace(folder, rank=number, world=4, pid=number + 1)
    half = number % 2
    attrs = {"placements": ["R", "S(0)"], "mesh": [2, 2], "sharded": True, "part": [half]} if sharded else {}
    model = t.model("model", {"w": {"content": 77 + half * sharded, "attrs": attrs}})
    optimizer = t.optimizer(model)
    for i in range(6):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        if i == drifts_from and number == 3:
            t.change(model.var("w"))
        t.cut()
    t.end()


def healthy(folder):
    for number in range(4):
        rank(folder, number, sharded=False)


def fine(folder):
    for number in range(4):
        rank(folder, number)


def broken(folder):
    for number in range(4):
        rank(folder, number, drifts_from=2)
