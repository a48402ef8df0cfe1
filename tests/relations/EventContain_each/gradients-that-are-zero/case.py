# SPDX-License-Identifier: Apache-2.0
"""A matrix whose gradient is computed to be zero in all of a run never learns; a bias may cancel, a first phase may end."""
from trace_writer import Trace


def train(folder, late=0, still="b"):
    """late: the step at which the parameter `still` gets its first gradient."""
    t = Trace(folder)
    t.stage = "training"
    model = t.model("model", {"w": {}, "v": {}, "b": {"shape": [4]}})
    optimizer, still = t.optimizer(model), model.var(still)
    others = [v for v in model.parameters if v is not still]
    for i in range(16):
        t.zero_grad(optimizer)
        t.forward(model)
        moves = others if i < late else model.parameters
        t.backward(model, reaches=moves, hook=None if i >= late else lambda: t.set(still, grad="zero"))
        t.step(optimizer, changes=moves)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine_a_bias(folder):
    train(folder, late=16)


def fine_once_a_phase_ends(folder):
    train(folder, late=14, still="v")


def broken(folder):
    train(folder, late=16, still="v")
