# SPDX-License-Identifier: Apache-2.0
"""Calls in a row are counted for each optimizer: the steps of one say nothing about the other."""
from trace_writer import Trace


def train(folder, late_changes=None):
    t = Trace(folder)
    one, two = t.net("w"), t.net("v")
    first, second = t.optimizer(one), t.optimizer(two)
    for i in range(6):
        t.train_step(one, first)
        t.train_step(two, second, changes=late_changes)
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, late_changes=[])
