# SPDX-License-Identifier: Apache-2.0
"""An initialiser made of others is one, and what torch's constructors did is overruled on purpose."""
from trace_writer import Trace


def train(folder):
    t = Trace(folder)
    weight = t.tensor(4, 4)
    t.op("torch.nn.init.kaiming_uniform_", role="init", by="torch", args={"tensor": weight})
    t.enter("torch.nn.init.kaiming_uniform_", role="init", args={"tensor": weight})
    t.op("torch.Tensor.uniform_", role="init", self=weight)
    t.op("torch.Tensor.uniform_", role="init", self=weight)
    t.leave()
    t.end()


def healthy(folder):
    train(folder)
