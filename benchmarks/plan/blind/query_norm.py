"""Megatron-LM #7452, finding 11: a norm that all heads share works on the rank's heads only, and nothing sums its
gradient over the tensor ranks unless sequence parallelism is on."""
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from parts import arguments, enter, leave

VOCABULARY, WIDTH, HEADS, SIZE, BATCH, LENGTH, LAYERS = 19, 10, 6, 4, 3, 7, 2


class Attention(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.group, tp = args.group.get("tp"), args.tp
        self.heads = HEADS // tp
        inner = self.heads * SIZE
        torch.manual_seed(5)
        self.qkv = nn.Linear(WIDTH, 3 * inner, bias=False)
        self.out = nn.Linear(inner, WIDTH, bias=False)
        self.q_norm, self.k_norm = nn.RMSNorm(SIZE), nn.RMSNorm(SIZE)

    def forward(self, x):
        q, k, v = self.qkv(enter(x, self.group)).chunk(3, -1)
        q, k, v = (t.unflatten(-1, (self.heads, SIZE)) for t in (q, k, v))
        q, k = self.q_norm(q), self.k_norm(k)  # place
        x = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True)
        return leave(self.out(x.transpose(1, 2).flatten(2)), self.group)


class Model(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(LAYERS))
        self.layers = nn.ModuleList(Attention(args) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        x = self.embed(tokens)
        for norm, layer in zip(self.norms, self.layers):
            x = x + layer(norm(x))
        return self.head(x)


def finish_gradients(model, args):
    """Sum what only a part of the heads has contributed to."""
    if args.tp > 1 and not args.bug:
        for name, parameter in model.named_parameters():
            if "q_norm" in name or "k_norm" in name:
                dist.all_reduce(parameter.grad, group=args.group["tp"])


def main():
    args = arguments("tp")
    torch.manual_seed(1)
    model = Model(args)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(5):
        text = torch.arange(BATCH * (LENGTH + 1)).view(BATCH, -1) * (step + 2) % VOCABULARY
        optimizer.zero_grad()
        F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten()).backward()
        finish_gradients(model, args)
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
