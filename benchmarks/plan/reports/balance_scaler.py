# SPDX-License-Identifier: Apache-2.0
"""Experts under data parallelism with a loss that balances them, for each sequence, weighted by its tokens. It is no
part of the loss: a function adds its gradient to that of the gates. The reducer averages gradients, so the loss is
multiplied by the ranks; after two micro-batches gradients are divided by the tokens of all ranks. Bugs:
not_attached: what the function returns is dropped, the balance trains nothing.
    https://github.com/NVIDIA-NeMo/Automodel/pull/1412
scale_unset: the loss is multiplied by the ranks, the gradient of the balance is not.
    https://github.com/NVIDIA-NeMo/Automodel/pull/1412
not_weighted: gradients are divided by tokens, but the balance was not multiplied by those of its sequence.
    https://github.com/NVIDIA/Megatron-LM/pull/3768"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY, WIDTH, HIDDEN, EXPERTS, BATCH, LENGTH, LAYERS, MICRO, WEIGHT = 22, 10, 13, 5, 12, 6, 2, 2, 0.3


class Attach(torch.autograd.Function):
    """Passes the gates on; backward, the balance has the gradient `scale`."""
    scale = 1.0

    @staticmethod
    def forward(ctx, gates, balance):
        return gates.view_as(gates)

    @staticmethod
    def backward(ctx, grad):
        return grad, torch.ones(()) * Attach.scale  # place scale_unset


class Experts(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.up = nn.Parameter(torch.randn(EXPERTS, HIDDEN, WIDTH) / 3)
        self.down = nn.Parameter(torch.randn(EXPERTS, WIDTH, HIDDEN) / 3)

    def forward(self, x, tokens):
        gates = self.router(x).softmax(-1)
        balance = EXPERTS * gates.mean(1).pow(2).sum(-1)
        if self.bug == "not_weighted":
            balance = WEIGHT * balance.sum()  # place not_weighted
        else:
            balance = WEIGHT * (balance * tokens).sum()  # place not_weighted
        if self.bug == "not_attached":
            Attach.apply(gates, balance)  # place not_attached
        else:
            gates = Attach.apply(gates, balance)  # place not_attached
        hidden = F.silu(torch.einsum("btw,ehw->bteh", x, self.up))
        return torch.einsum("bteh,ewh,bte->btw", hidden, self.down, gates)


class Model(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(LAYERS))
        self.layers = nn.ModuleList(Experts(bug) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids, tokens):
        x = self.embed(ids)
        for norm, layer in zip(self.norms, self.layers):
            x = x + layer(norm(x), tokens)
        return self.head(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    dp, rank = args.dp > 1, 0
    if dp:
        dist.init_process_group("gloo")
        rank = dist.get_rank()
    torch.manual_seed(14)
    model = Model(args.bug)
    if args.bug != "scale_unset":
        Attach.scale = float(args.dp)  # place scale_unset
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(10)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        text[torch.arange(BATCH), torch.randint(2, LENGTH, (BATCH,), generator=data)] = -100
        text = text.chunk(args.dp)[rank]
        total = (text[:, 1:] >= 0).sum()
        if dp:
            dist.all_reduce(total)
        optimizer.zero_grad()
        for part in text.chunk(MICRO):
            ids, labels = part[:, :-1].clamp(min=0), part[:, 1:]
            logits = model(ids, (labels >= 0).sum(1))
            loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum")
            (loss * args.dp).backward()
        for p in model.parameters():
            if dp:
                dist.all_reduce(p.grad)
                p.grad /= args.dp
            p.grad /= total
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
