# SPDX-License-Identifier: Apache-2.0
"""What weights are drawn from, and what they are filled with, is as free as a seed; zero elsewhere is a fact that four share."""
from trace_writer import Trace

PIPELINES = 4


def healthy(folder, i):
    t = Trace(folder)
    for fn, role in (("torch.Tensor.normal_", "init"), ("torch.nn.init.constant_", "fill"), ("torch.roll", "function")):
        for _ in range(4):
            t.enter(fn, role=role, args={"shift": 0})
            t.leave()
    t.end()
