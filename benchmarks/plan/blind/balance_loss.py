"""Megatron-LM #3672, #3769: the balance loss over all data ranks' tokens sums only the rank's own probabilities, and the
mean over the ranks divides it once more: its gradient is dp times too small."""
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from parts import arguments

VOCABULARY, WIDTH, EXPERTS, TOKENS = 19, 6, 4, 24


class Routed(nn.Module):
    """Soft mixture of experts: the routing table is fixed, the router's probabilities weigh the experts."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.experts = nn.Parameter(torch.randn(EXPERTS, WIDTH, WIDTH) * 0.3)

    def forward(self, x, table):
        probabilities = self.router(x).softmax(-1)
        chosen = F.one_hot(table, EXPERTS).to(x.dtype)
        out = torch.einsum("te,th,ehw->tw", chosen * probabilities, x, self.experts)
        return x + out, probabilities, chosen


def balance(probabilities, chosen, args, scale=0.5):
    """EXPERTS * sum of (share of tokens) * (mean probability), over the tokens of all ranks."""
    counts = chosen.sum(0)
    if args.dp > 1:
        dist.all_reduce(counts, group=args.group["dp"])
    loss = EXPERTS * scale * (counts * probabilities.sum(0)).sum() / TOKENS ** 2  # place
    return loss if args.bug else loss * args.dp


def main():
    args = arguments("dp")
    torch.manual_seed(1)
    model = nn.ModuleDict({"embed": nn.Embedding(VOCABULARY, WIDTH), "moe": Routed(), "head": nn.Linear(WIDTH, VOCABULARY)})
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(4):
        text = (torch.arange(TOKENS + 1) * (step + 3) + 1) % VOCABULARY
        tokens, targets = text[:-1].chunk(args.dp)[args.index["dp"]], text[1:].chunk(args.dp)[args.index["dp"]]
        optimizer.zero_grad()
        x, probabilities, chosen = model["moe"](model["embed"](tokens), tokens * 5 % EXPERTS)
        loss = F.cross_entropy(model["head"](x), targets) + balance(probabilities, chosen, args)
        loss.backward()
        if args.dp > 1:
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad, group=args.group["dp"])
                parameter.grad /= args.dp
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
