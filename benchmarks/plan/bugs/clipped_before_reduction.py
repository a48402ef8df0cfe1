"""Each data rank clips its own gradient, and then they are averaged."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "setups"))
import megatron  # noqa: E402

RUN = {"options": "--tp 2 --dp 2 --clip 1", "single_options": "--clip 1", "world": 4, "names": ["sum", "setups/megatron.py", "(grad ** 2).sum()"]}


def reduce_gradients(model, args, groups):
    megatron_clip(model, 1.0, groups)  # wrong: too early
    reduce_of_setup(model, args, groups)


def clip(model, limit, groups):
    if groups.dp == 1:
        megatron_clip(model, limit, groups)


reduce_of_setup, megatron_clip = megatron.reduce_gradients, megatron.clip
megatron.reduce_gradients, megatron.clip = reduce_gradients, clip


if __name__ == "__main__":
    megatron.main()

# SPDX-License-Identifier: Apache-2.0
