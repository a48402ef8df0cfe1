"""Each context rank counts positions from 0."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "setups"))
import torch  # noqa: E402
import context_parallel  # noqa: E402

RUN = {"options": "--ranks 2", "world": 2, "names": ["mul", "setups/context_parallel.py", "angle"]}


class Attention(context_parallel.Attention):
    def positions(self, length):
        return torch.arange(length)  # wrong: not where this rank's tokens are


context_parallel.Attention = Attention


if __name__ == "__main__":
    context_parallel.main()

# SPDX-License-Identifier: Apache-2.0
