# SPDX-License-Identifier: Apache-2.0
"""A module hands its dropout on to attention while it is in training mode, and zero otherwise. In the broken run it always does. A call outside of any
module, and one that is given a mode of its own, say nothing."""
from trace_writer import Trace

RULE = True


def run(folder, in_evaluation=0.0, module=True, n=4, **more):
    t = Trace(folder)
    for training in [True] * 3 + [False] * n:
        if module:
            t.enter("torch.nn.Module.__call__", self={"object": "__main__.Attention", "id": 9, "attrs": {"training": training}})
        t.call("torch.nn.functional.scaled_dot_product_attention", at="model.py:7", here="model.py:7",
               args={"dropout_p": 0.1 if training else in_evaluation, **more})
        if module:
            t.leave()
    t.end()


def fine(folder):
    run(folder)


def fine_outside(folder):
    run(folder, in_evaluation=0.1, module=False)


def fine_with_a_mode(folder):
    run(folder, in_evaluation=0.1, training=False)


def fine_twice(folder):
    run(folder, in_evaluation=0.1, n=2)


def broken(folder):
    run(folder, in_evaluation=0.1)
