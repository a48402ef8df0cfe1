# SPDX-License-Identifier: Apache-2.0
"""A section that no forward closes says nothing: the script may just have saved again."""
from trace_writer import Trace


def train(folder, both=True):
    t = Trace(folder)
    model = t.net("w")
    t.call("torch.nn.Module.load_state_dict", role="load")
    if both:
        t.call("torch.optim.Optimizer.load_state_dict", role="load")
        t.forward(model)
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, both=False)
