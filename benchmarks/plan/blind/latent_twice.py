"""AReno #496: the latent projections are the same on all tensor ranks. The column-parallel projection after them already
sums their gradient, and a pass over all such parameters sums it once more."""
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from parts import arguments, enter, leave

VOCABULARY, WIDTH, LATENT, HEADS, SIZE, ROPE, BATCH, LENGTH = 19, 12, 5, 6, 4, 2, 3, 7


class Latent(nn.Module):
    """Keys are half of each head's own, half shared, as in multi-head latent attention."""

    def __init__(self, args):
        super().__init__()
        self.group, self.heads = args.group.get("tp"), HEADS // args.tp
        self.q = nn.Linear(WIDTH, self.heads * (SIZE + ROPE), bias=False)
        self.kv_a = nn.Linear(WIDTH, LATENT + ROPE, bias=False)
        self.kv_norm = nn.RMSNorm(LATENT)
        self.kv_b = nn.Linear(LATENT, self.heads * 2 * SIZE, bias=False)
        self.out = nn.Linear(self.heads * SIZE, WIDTH, bias=False)

    def forward(self, x):
        q = self.q(enter(x, self.group)).unflatten(-1, (self.heads, SIZE + ROPE)).transpose(1, 2)
        latent, shared = self.kv_a(x).split([LATENT, ROPE], -1)
        kv = self.kv_b(enter(self.kv_norm(latent), self.group)).unflatten(-1, (self.heads, 2 * SIZE)).transpose(1, 2)
        k, v = kv.chunk(2, -1)
        shared = enter(shared, self.group)
        k = torch.cat([k, shared.unsqueeze(1).expand(-1, self.heads, -1, -1)], -1)
        x = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return leave(self.out(x.transpose(1, 2).flatten(2)), self.group)


def finish(model, args):
    if args.tp > 1 and args.bug:
        for name, parameter in model.named_parameters():
            if "kv_a" in name or "kv_norm" in name:
                dist.all_reduce(parameter.grad, group=args.group["tp"])  # place


def main():
    args = arguments("tp")
    torch.manual_seed(1)
    model = nn.Module()
    model.embed, model.attention = nn.Embedding(VOCABULARY, WIDTH), Latent(args)
    model.head = nn.Linear(WIDTH, VOCABULARY)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(5):
        text = torch.arange(BATCH * (LENGTH + 1)).view(BATCH, -1) * (step + 2) % VOCABULARY
        optimizer.zero_grad()
        x = model.embed(text[:, :-1])
        logits = model.head(x + model.attention(x))
        F.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten()).backward()
        finish(model, args)
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
