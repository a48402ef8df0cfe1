# SPDX-License-Identifier: Apache-2.0
"""Two critics, each with an average that follows it, and a sum of two rows. In the broken run an average follows the other critic, and
the rows are the same one."""
from trace_writer import Trace

OPTIONS = ["--specific"]
GET, ADD = "torch.Tensor.__getitem__", "torch.Tensor.add"


def parameter(t, model):
    return {**t.tensor(4), "tensor": "Parameter", "id": model["vars"][0].serial}


def train(folder, other=None, shift=1):
    t = Trace(folder, operators=True)
    models = {name: t.model(name, {"weight": {}}) for name in ("q1", "q2", "q1_target", "q2_target")}
    optimizer = t.optimizer(models["q1"])
    t.stage = "training"
    for step in range(4):
        rewards, values = t.tensor(8), t.tensor(8)
        rows = []
        for tensor, index in ((rewards, step % 4), (values, step % 4 + shift)):
            rows.append(t.tensor(1))
            t.op(GET, role="operator", value=rows[-1], at="train.py:21", self=tensor, args={"index": index})
        t.op(ADD, role="operator", value=t.tensor(1), at="train.py:22", self=rows[0], args={"other": rows[1]})
        for name in ("q1", "q2"):
            source = parameter(t, models[other if other and name == "q1" else name])
            target = parameter(t, models[f"{name}_target"])
            half, sum_ = t.tensor(4), t.tensor(4)
            t.op("torch.Tensor.mul", role="operator", value=half, at="train.py:23", self=source, args={"other": 0.5})
            t.op(ADD, role="operator", value=sum_, at="train.py:23", self=half, args={"other": target})
            t.op("torch.Tensor.copy_", role="fill", value=target, at="train.py:23", self=target, args={"src": sum_})
        t.train_step(models["q1"], optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, other="q2", shift=0)
