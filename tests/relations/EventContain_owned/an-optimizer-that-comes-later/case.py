# SPDX-License-Identifier: Apache-2.0
"""Two optimizers in turn: the second shows in the third window what it owns, or by the group that it was given. Frozen parameters need no
owner."""
from trace_writer import Trace


def train(folder, second_from=2, is_told=False):
    t = Trace(folder)
    model = t.net("w", "v", "base", frozen=["base"])
    first, second = (t.optimizer(model, params=[model.var(name)]) for name in "wv")
    if is_told:
        group = {"params": [{"tensor": "Parameter", "id": v.serial, "shape": [2, 2], "dtype": "float32"} for v in second["vars"]]}
        t.call("torch.optim.Optimizer.add_param_group", args={"param_group": {"dict": group}})
    for i in range(6):
        t.zero_grad(first)
        t.forward(model)
        t.backward(model)
        t.step(first)
        if i >= second_from:
            t.step(second)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, second_from=1)


def fine_by_its_group(folder):
    train(folder, second_from=5, is_told=True)
