# SPDX-License-Identifier: Apache-2.0
"""Arrays that a package makes become tensors. Of a package's function a step tells 32 calls, in whatever stages they are: behind that an array may be
one of them, also where a function of the script hands it out. In the broken run it comes from elsewhere without that."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def array(t):
    return {"array": "ndarray", "id": t.serial(), "shape": [4], "dtype": "float32"}


def train(folder, tried=2, made=5, other=False):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(6):
        t.train_step(model, optimizer)
        is_odd = i == 3
        for stage, n in ("evaluation", tried if is_odd else 2), ("training", made if is_odd else 5):
            t.stage = stage
            for _ in range(n):
                made_now = array(t)
                t.op("numpy.zeros", role="package", at="train.py:20", args={"shape": [4]}, value=made_now)
                t.op("torch.from_numpy", at="train.py:21", args={"ndarray": made_now}, value=t.tensor(4))
        if other and is_odd:
            made_now = array(t)
            if other == "observed":
                t.op("__main__.observe", role="own", at="train.py:22", value=made_now)
            t.op("torch.from_numpy", at="train.py:21", args={"ndarray": made_now}, value=t.tensor(4))
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def fine(folder):
    train(folder, tried=20, made=12, other=True)


def fine_observed(folder):
    train(folder, tried=20, made=12, other="observed")


def broken(folder):
    train(folder, other=True)
