# SPDX-License-Identifier: Apache-2.0
"""A warm-up begins at zero and a schedule ends there. In the broken run the rate is zero for five steps. A first group whose rate is zero
rests, as long as another one learns. Between two schedules an epoch may pass at zero. Without a schedule moments may fill up first, at a rate of zero."""
from trace_writer import Trace


def train(folder, rates, changes=False, led=True):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    plain = t.on_optimizer

    def on_optimizer(opt):
        fields = plain(opt)
        if led:
            fields["self"]["attrs"]["initial_lr"] = 0.2
        return fields

    t.on_optimizer = on_optimizer
    for rate in rates:
        optimizer["lr"] = rate
        t.train_step(model, optimizer, None if rate or changes else [])
    t.end()


def healthy(folder):
    train(folder, [0, 0.1, 0.2, 0.1, 0.0, 0.0])


def fine_where_another_group_learns(folder):
    train(folder, [0.0] * 5, changes=True)


def fine_between_two_schedules(folder):
    train(folder, [0.1] * 8 + [0.0] * 3 + [0.1] * 4)


def fine_by_hand(folder):
    train(folder, [0.0] * 8 + [0.1, 0.1], led=False)


def broken(folder):
    train(folder, [0.0] * 5 + [0.1, 0.1])
