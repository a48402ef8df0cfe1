"""deepspeedai/DeepSpeed issue 8475: clipping averages norms of ranks that own different experts."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "setups"))
import torch  # noqa: E402
import torch.distributed  # noqa: E402
import moe  # noqa: E402

RUN = {"options": "--ranks 2", "world": 2, "layout": "moe", "single": "bug", "names": ["stack", "bugs/expert_norm_averaged.py", "torch.stack("]}


def clip(model):
    total = torch.stack([(p.grad ** 2).sum() for p in model.parameters()]).sum()
    if torch.distributed.is_initialized():
        total = total / torch.distributed.get_world_size()  # wrong: experts of the ranks differ
        torch.distributed.all_reduce(total)
    for parameter in model.parameters():
        parameter.grad.mul_((1 / total.sqrt()).clamp(max=1.0))


class Optimizer(torch.optim.AdamW):
    def step(self, closure=None):
        clip(moe_model[0])
        super().step()


moe_model = []


class Model(moe.Model):
    def __init__(self, *args):
        super().__init__(*args)
        moe_model.append(self)


moe.Model = Model
torch.optim.AdamW = Optimizer


if __name__ == "__main__":
    moe.main()

# SPDX-License-Identifier: Apache-2.0
