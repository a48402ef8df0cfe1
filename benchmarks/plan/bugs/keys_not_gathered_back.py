"""The gradient of gathered keys is cut and not reduced."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "setups"))
import torch  # noqa: E402
import torch.distributed  # noqa: E402
import context_parallel  # noqa: E402

RUN = {"options": "--ranks 2", "world": 2, "names": ["clone", "", "# wrong"]}


class GatherTokens(context_parallel.GatherTokens):
    @staticmethod
    def backward(ctx, grad):
        rank = torch.distributed.get_rank()
        return grad.chunk(ctx.ranks, 1)[rank].contiguous(), None  # wrong: other ranks have parts of it


context_parallel.GatherTokens = GatherTokens


if __name__ == "__main__":
    context_parallel.main()

# SPDX-License-Identifier: Apache-2.0
