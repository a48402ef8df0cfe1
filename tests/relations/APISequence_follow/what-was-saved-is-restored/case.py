# SPDX-License-Identifier: Apache-2.0
"""Only what the run itself has saved can be missing; where it has saved nothing, a run before it did."""
from trace_writer import Trace


def train(folder, saves=("Module", "Optimizer"), loads=("Module", "Optimizer"), trains=True):
    t = Trace(folder)
    model = t.net("w")
    for owner in saves:
        t.call(f"torch.{owner}.state_dict", role="save", at="train.py:2")
    for owner in loads:
        t.call(f"torch.{owner}.load_state_dict", role="load", at="train.py:3")
    if trains:
        t.forward(model)
    else:
        t.evaluate(model)
    t.end()


def healthy(folder):
    train(folder)


def fine_only_weights_were_saved(folder):
    train(folder, saves=["Module"], loads=["Module"])


def fine_the_best_weights_are_tested(folder):
    train(folder, loads=["Module"], trains=False)


def broken(folder):
    train(folder, loads=["Module"])
