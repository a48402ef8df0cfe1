"""EleutherAI/gpt-neox issue 962: each tensor rank adds the whole bias before the sum."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "setups"))
import torch  # noqa: E402
import megatron  # noqa: E402

RUN = {"options": "--tp 2 --dp 2", "world": 4, "names": ["addmm", "", "# wrong"]}


class RowLinear(megatron.RowLinear):
    def forward(self, x):
        out = torch.nn.functional.linear(x, self.weight, self.bias)  # wrong: once on each rank
        return megatron.SumOverTensorRanks.apply(out, self.groups) if self.groups.tp > 1 else out


megatron.RowLinear = RowLinear


if __name__ == "__main__":
    megatron.main()

# SPDX-License-Identifier: Apache-2.0
