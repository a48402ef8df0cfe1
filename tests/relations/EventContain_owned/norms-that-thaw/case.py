# SPDX-License-Identifier: Apache-2.0
"""The body thaws, its norm with it, and the optimizer is given the matrix alone: as the script means it. Were it given the norm
alone, the matrix would be reported."""
from trace_writer import Trace


def train(folder, thaws=None, frozen=("body", "norm"), given=("body", "head")):
    """thaws: the step in which what is frozen thaws."""
    t = Trace(folder)
    t.stage = "training"
    is_frozen = {name: thaws is not None and name in frozen for name in ("body", "norm", "head")}
    model = t.model("model", {name: {"shape": [4] if name == "norm" else [4, 4], "requires_grad": not is_frozen[name]}
                              for name in is_frozen})
    early = [model.var(name) for name in given if not is_frozen[name]]
    optimizer = t.optimizer(model, params=early)
    for i in range(8):
        if i == thaws:
            for name in frozen:
                t.set(model.var(name), requires_grad=True)
            optimizer["vars"] = [model.var(name) for name in given]
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder, given=("body", "norm", "head"))


def fine(folder):
    train(folder, thaws=4)


def broken(folder):
    train(folder, thaws=4, given=("norm", "head"))
