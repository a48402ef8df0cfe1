"""The backward of a column-parallel layer gives back each rank's part of the gradient."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "setups"))
import torch  # noqa: E402
import megatron  # noqa: E402

RUN = {"options": "--tp 2 --dp 2", "world": 4, "names": ["mm", "setups/megatron.py", "F.linear(x, self.weight, self.bias)"]}


class CopyToTensorRanks(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, groups):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad, None  # wrong: a part of the sum


megatron.CopyToTensorRanks = CopyToTensorRanks


if __name__ == "__main__":
    megatron.main()

# SPDX-License-Identifier: Apache-2.0
