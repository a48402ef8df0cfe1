# SPDX-License-Identifier: Apache-2.0
"""Forwards that stand before the cut belong to the step they are for, also across an evaluation; a loss may come from no model; a step
may be cut by a second one."""
from trace_writer import Trace


def train(folder, cuts_late, asks_another=False, forwards="first"):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(6):
        if forwards == "first":
            t.forward(model)
        if asks_another:
            t.cut("stage")
            t.evaluate(model)
            t.cut("stage")
        elif cuts_late and i:
            t.cut("zero_grad")
        t.zero_grad(optimizer)
        t.backward(model)
        t.step(optimizer)
        if forwards == "last":
            t.forward(model)
        if not cuts_late:
            t.cut("forward")
    t.end()


def healthy(folder):
    train(folder, cuts_late=False)


def fine_cut_by_zero_grad(folder):
    train(folder, cuts_late=True)


def fine_cut_by_the_stage(folder):
    train(folder, cuts_late=False, asks_another=True)


def fine_without_a_model(folder):
    train(folder, cuts_late=False, forwards="never")


def fine_cut_by_a_second_step(folder):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(24):
        for part in range(2 if i % 4 == 0 else 1):
            t.forward(model)
            t.zero_grad(optimizer)
            t.backward(model)
            if part:
                t.cut("step")
            t.step(optimizer)
        t.cut("forward")
    t.end()


def broken(folder):
    train(folder, cuts_late=False, forwards="last")
