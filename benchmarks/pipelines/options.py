"""The four knobs that every pipeline has, so that variants of it can be run."""

import argparse


def scaled(default):
    """The type of an option: a number, or 'x0.5' for half of the default."""

    def parse(text):
        if text.startswith("x"):
            return max(1, round(default * float(text[1:]))) if isinstance(default, int) else default * float(text[1:])
        return type(default)(text)

    return parse


def options(lr, width, steps, seed=0):
    """Read --seed, --lr, --width and --steps (optimizer steps, roughly) with a pipeline's own defaults."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=seed)
    for name, default in {"lr": lr, "width": width, "steps": steps}.items():
        parser.add_argument(f"--{name}", type=scaled(default), default=default, help="a number, or x0.5")
    return parser.parse_args()

# SPDX-License-Identifier: Apache-2.0
