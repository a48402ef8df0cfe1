# SPDX-License-Identifier: Apache-2.0
"""A function of the script asks the model for two batches, or sets it to evaluation and asks it. With it the evaluation is over: what is reset
once belongs to training, also where it stands right behind such a function. In the broken run it stands behind a function that asks once, which may
be a helper, or act: there the evaluation goes on, in which nothing is reset."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, reset_at, n_batches=2, sets_mode=False):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    t.stage = "training"
    for i in range(16):
        if i == reset_at:
            for _ in range(8):
                t.op("torch.Tensor.zero_", at="train.py:20")
        t.train_step(model, optimizer)
        t.cut()
        if i % 4 == 3:
            t.enter("__main__.evaluate", role="own", at="train.py:21")
            t.stage = "evaluation"
            if sets_mode:
                t.call("torch.nn.Module.eval", role="mode", at="train.py:22")
            for _ in range(n_batches):
                t.evaluate(model)
            t.leave()
            if i + 1 == reset_at:
                for _ in range(8):
                    t.op("torch.Tensor.zero_", at="train.py:20")
                reset_at = None
            t.stage = "training"
    t.end()


def healthy(folder):
    train(folder, 6)


def healthy_again(folder):
    train(folder, 6)


def fine_behind_an_evaluation(folder):
    train(folder, 8)


def fine_behind_one_batch(folder):
    train(folder, 8, n_batches=1, sets_mode=True)


def broken(folder):
    train(folder, 8, n_batches=1)
