"""DeepSpeed #5618, #6545: experts' gradients are divided by the number of their copies, not by that of the data ranks."""
import torch
import torch.distributed as dist
import torch.distributed.nn.functional as collective
import torch.nn as nn
import torch.nn.functional as F

from parts import arguments

VOCABULARY, WIDTH, HIDDEN, EXPERTS, TOKENS = 17, 6, 10, 4, 48


class Experts(nn.Module):
    """Experts in the ranks of ep; tokens go to them by their position and come back."""

    def __init__(self, args):
        super().__init__()
        self.group, self.ranks = args.group.get("ep"), args.ep
        self.count = EXPERTS // args.ep
        self.up = nn.Parameter(torch.randn(self.count, WIDTH, HIDDEN) * 0.3)
        self.down = nn.Parameter(torch.randn(self.count, HIDDEN, WIDTH) * 0.3)

    def forward(self, x):
        tokens = x.shape[0]
        x = x.view(tokens // EXPERTS, EXPERTS, WIDTH).transpose(0, 1).contiguous()
        if self.ranks > 1:
            x = collective.all_to_all_single(torch.empty_like(x), x, group=self.group)
            x = x.view(self.ranks, self.count, -1, WIDTH).transpose(0, 1).flatten(1, 2)
        x = torch.bmm(torch.relu(torch.bmm(x, self.up)), self.down)
        if self.ranks > 1:
            x = x.view(self.count, self.ranks, -1, WIDTH).transpose(0, 1).flatten(0, 1).contiguous()
            x = collective.all_to_all_single(torch.empty_like(x), x, group=self.group)
        return x.transpose(0, 1).reshape(tokens, WIDTH)


def average(model, args):
    """Experts live on `dp` ranks, all else on all of them."""
    copies = args.dp
    for name, parameter in model.named_parameters():
        if name.startswith("experts"):
            if copies > 1:
                dist.all_reduce(parameter.grad, group=args.group["dp"])
            parameter.grad /= copies if args.bug else args.world  # place
        elif args.world > 1:
            dist.all_reduce(parameter.grad)
            parameter.grad /= args.world


def main():
    args = arguments("dp", "ep")
    torch.manual_seed(1)
    model = nn.ModuleDict({"embed": nn.Embedding(VOCABULARY, WIDTH), "experts": Experts(args), "head": nn.Linear(WIDTH, VOCABULARY)})
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(5):
        text = (torch.arange(TOKENS + 1) * (step + 3) + 1) % VOCABULARY
        tokens, targets = text[:-1].chunk(args.world)[args.rank], text[1:].chunk(args.world)[args.rank]
        optimizer.zero_grad()
        x = model["embed"](tokens)
        x = x + model["experts"](x)
        F.cross_entropy(model["head"](x), targets).backward()
        average(model, args)
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
