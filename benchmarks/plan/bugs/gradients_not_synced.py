"""NVIDIA/Megatron-LM issue 1685: the example's loop never reduced gradients over the data ranks."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "setups"))
import megatron  # noqa: E402

RUN = {"options": "--tp 2 --dp 2", "world": 4, "names": ["_backward", "setups/megatron.py", "self.norm1(x)"]}


def reduce_gradients(model, args, groups):
    """wrong: nothing"""


megatron.reduce_gradients = reduce_gradients


if __name__ == "__main__":
    megatron.main()

# SPDX-License-Identifier: Apache-2.0
