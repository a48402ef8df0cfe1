# SPDX-License-Identifier: Apache-2.0
"""What a function of a package returns is made by it, a tensor too, as nothing that it calls is traced: in the broken run the product gets what
the script's own line made."""
from trace_writer import Trace

OPTIONS = ["--specific", "--enable-relation", "APIArg/source"]


def train(folder, is_broken=False):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(6):
        x, made, other = t.tensor(4), t.tensor(4), t.tensor(4)
        t.op("einops.rearrange", role="package", at="train.py:20", args={"tensor": x}, value=made)
        t.op("torch.Tensor.add", role="operator", at="train.py:21", args={"other": x}, value=other)
        t.op("torch.Tensor.mul", role="operator", at="train.py:22", args={"other": other if is_broken else made})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_too(folder):
    train(folder)


def broken(folder):
    train(folder, is_broken=True)
