# SPDX-License-Identifier: Apache-2.0
"""What else a script does between loading and its first step is its habit: a mode, a schedule, clearing."""
from trace_writer import Trace


def healthy(folder):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    t.call("torch.nn.Module.load_state_dict", role="load", at="train.py:5")
    t.call("torch.nn.Module.train")
    t.schedule()
    t.zero_grad(optimizer)
    t.forward(model)
    t.end()
