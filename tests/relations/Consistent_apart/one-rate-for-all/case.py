# SPDX-License-Identifier: Apache-2.0
"""Two groups with rates of their own, which a schedule scales. In the broken run it gives both the same, from the second step on. Rates may
meet at the end of a schedule, at the least that it gives; another setting is the same from the start."""
from trace_writer import Trace


def train(folder, rates, name="optimizer"):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    groups = [t.settings(f"{name}.param_groups[{i}]", lr=rates[0][i], momentum=0.9) for i in range(2)]
    for pair in rates:
        for group, rate in zip(groups, pair):
            t.adjust(group, lr=rate)
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder, [(0.1, 0.01), (0.08, 0.008), (0.04, 0.004), (0.02, 0.002), (0.001, 0.001), (0.001, 0.001)])


def healthy_another(folder):
    train(folder, [(0.3, 0.1), (0.3, 0.1), (0.3, 0.1), (0.3, 0.1)])


def fine_one_rate_from_the_start(folder):
    train(folder, [(0.1, 0.1), (0.08, 0.08), (0.04, 0.04), (0.02, 0.02), (0.01, 0.01)])


def broken(folder):
    train(folder, [(0.1, 0.01), (0.08, 0.08), (0.08, 0.08), (0.04, 0.04), (0.02, 0.02), (0.01, 0.01)])
