# SPDX-License-Identifier: Apache-2.0
"""Parameters with a framework attribute that only one of three pipelines had are not judged."""
from trace_writer import Trace


def train(folder, changes=None, **attrs):
    t = Trace(folder)
    model = t.net("w", "b", **attrs)
    optimizer = t.optimizer(model)
    for _ in range(6):
        t.train_step(model, optimizer, changes)
    t.end()


def healthy_1(folder):
    train(folder, tensor_model_parallel=True)


def healthy_2(folder):
    train(folder)


def healthy_3(folder):
    train(folder)


def broken(folder):
    train(folder, changes=[], tensor_model_parallel=True)
