# SPDX-License-Identifier: Apache-2.0
"""It takes a forward, unscaling, a closure and enabled gradients: too many clauses."""
from trace_writer import Trace


def healthy(folder):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for kind in ["fucg", "ucg", "fucg", "fcg", "fucg", "fug", "fucg", "fuc"]:
        t.zero_grad(optimizer)
        if "f" in kind:
            t.forward(model)
        t.backward(model)
        if "u" in kind:
            t.unscale()
        t.ctx = {} if "g" in kind else {"grad": False}
        t.step(optimizer, None if kind == "fucg" else [], closure=(lambda: None) if "c" in kind else None)
        t.ctx = {}
        t.cut()
    t.end()
