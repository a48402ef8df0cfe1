"""Attention is scaled by what one rank has of the width."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "setups"))
import megatron  # noqa: E402

RUN = {"options": "--tp 2 --dp 2", "world": 4, "single": "bug", "names": ["mul", "setups/megatron.py", "self.scale(q)"]}


class Attention(megatron.Attention):
    def scale(self, q):
        return 1 / (q.shape[1] * self.head_size) ** 0.5  # wrong: heads of this rank


megatron.Attention = Attention


if __name__ == "__main__":
    megatron.main()

# SPDX-License-Identifier: Apache-2.0
