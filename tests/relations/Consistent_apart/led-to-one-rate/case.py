# SPDX-License-Identifier: Apache-2.0
"""A warm-up leads two groups from rates of their own to one, by equal parts or slower at the end. In the broken run a schedule scales both, until
one rate is written into both."""
from trace_writer import Trace


def train(folder, rates):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    groups = [t.settings(f"optimizer.param_groups[{i}]", lr=rates[0][i]) for i in range(2)]
    for pair in rates:
        for group, rate in zip(groups, pair):
            t.adjust(group, lr=rate)
        t.train_step(model, optimizer)
    t.end()


def decay(n):
    return [(0.1 * 0.9**i, 0.01 * 0.9**i) for i in range(n)]


def healthy(folder):
    train(folder, decay(8))


def fine(folder):
    train(folder, [(0.1 - 0.01 * i, 0.01 * i) for i in range(6)] + [(0.05 - 0.002 * i,) * 2 for i in range(1, 6)])


def fine_in_turns(folder):
    warmup = [(0.1, 0.0), (0.08, 0.01), (0.07, 0.02), (0.05, 0.03), (0.045, 0.035)]
    train(folder, [pair for pair in warmup for _ in range(2)] + [(0.04 - 0.002 * i,) * 2 for i in range(5)])


def broken(folder):
    train(folder, decay(6) + [(0.1 * 0.9**i,) * 2 for i in range(6, 12)])
