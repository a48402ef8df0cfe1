"""Gradients of micro-batches add up to a sum of means."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "setups"))
import megatron  # noqa: E402

RUN = {"options": "--tp 2 --dp 2 --accumulate 2", "world": 4, "names": ["factor", "", "# wrong"]}


def loss_of(model, x, y, args, groups):
    return ((model(x) - y) ** 2).mean()  # wrong: of one of several parts


megatron.loss_of = loss_of


if __name__ == "__main__":
    megatron.main()

# SPDX-License-Identifier: Apache-2.0
