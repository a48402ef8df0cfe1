"""NVIDIA/Megatron-LM pull request 5956, pytorch issue 160285: gradients of experts are as many times too large as there are ranks."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "setups"))
import torch  # noqa: E402
import torch.distributed  # noqa: E402
import moe  # noqa: E402

RUN = {"options": "--ranks 2", "world": 2, "layout": "moe", "names": ["factor", "setups/moe.py", "torch.bmm("]}


def reduce_gradients(model, args):
    for name, parameter in model.named_parameters():
        if "experts" in name:
            continue  # wrong: they are sums over the ranks' means already
        torch.distributed.all_reduce(parameter.grad)
        parameter.grad.div_(args.ranks)


moe.reduce_gradients = reduce_gradients


if __name__ == "__main__":
    moe.main()

# SPDX-License-Identifier: Apache-2.0
