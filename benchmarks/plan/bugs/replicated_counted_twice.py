"""ROCm/TransformerEngine pull request 715: replicated weights count once for each tensor rank in the norm."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "setups"))
import torch  # noqa: E402
import torch.distributed  # noqa: E402
import megatron  # noqa: E402

RUN = {"options": "--tp 2 --dp 2 --clip 1", "single_options": "--clip 1", "world": 4, "names": ["stack", "bugs/replicated_counted_twice.py", "torch.stack("]}


def clip(model, limit, groups):
    total = torch.stack([(p.grad ** 2).sum() for p in model.parameters()]).sum()
    if groups.tp > 1:
        torch.distributed.all_reduce(total, group=groups.tp_group)  # wrong: norms and biases are on all ranks
    factor = (limit / (total.sqrt() + 1e-6)).clamp(max=1.0)
    for parameter in model.parameters():
        parameter.grad.mul_(factor)


megatron.clip = clip


if __name__ == "__main__":
    megatron.main()

# SPDX-License-Identifier: Apache-2.0
