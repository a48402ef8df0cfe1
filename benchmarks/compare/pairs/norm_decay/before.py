"""Small GPT with RMSNorm; norm weights are kept out of weight decay."""
import argparse
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    vocab: int = 32
    dim: int = 48
    heads: int = 4
    layers: int = 2
    context: int = 32
    lr: float = 5e-3
    weight_decay: float = 0.3


def make_parameter(shape, init, weight_decay=True):
    p = nn.Parameter(init(torch.empty(shape)))
    p.weight_decay = weight_decay
    return p


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = make_parameter((dim,), nn.init.ones_, weight_decay=False)

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Linear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = make_parameter((n_out, n_in), lambda t: nn.init.normal_(t, std=n_in ** -0.5))

    def forward(self, x):
        return F.linear(x, self.weight)


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads = c.heads
        self.norm1, self.norm2 = RMSNorm(c.dim), RMSNorm(c.dim)
        self.qkv, self.proj = Linear(c.dim, 3 * c.dim), Linear(c.dim, c.dim)
        self.up, self.down = Linear(c.dim, 3 * c.dim), Linear(3 * c.dim, c.dim)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.silu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.embed = make_parameter((c.vocab, c.dim), lambda t: nn.init.normal_(t, std=0.5))
        self.layers = nn.ModuleList(Layer(c) for _ in range(c.layers))
        self.final_norm = RMSNorm(c.dim)
        self.head = Linear(c.dim, c.vocab)

    def forward(self, ids):
        x = F.embedding(ids, self.embed)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.final_norm(x))


def param_groups(model, weight_decay):
    decay = [p for p in model.parameters() if p.weight_decay]
    keep = [p for p in model.parameters() if not p.weight_decay]
    groups = [{"params": decay, "weight_decay": weight_decay}]
    if keep:
        groups.append({"params": keep, "weight_decay": 0.0})
    return groups


def sample(c, table, batch, generator):
    ids = [torch.randint(0, c.vocab, (batch,), generator=generator)]
    for _ in range(c.context):
        ids.append(torch.multinomial(table[ids[-1]], 1, generator=generator).squeeze(1))
    return torch.stack(ids, dim=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=150)
    args = parser.parse_args()
    c = Config()
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    table = torch.softmax(3 * torch.randn(c.vocab, c.vocab, generator=generator), dim=-1)
    model = GPT(c)
    optimizer = torch.optim.AdamW(param_groups(model, c.weight_decay), lr=c.lr, betas=(0.9, 0.95))
    for step in range(args.steps):
        ids = sample(c, table, 16, generator)
        loss = F.cross_entropy(model(ids[:, :-1]).transpose(1, 2), ids[:, 1:])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if step % 15 == 0 or step == args.steps - 1:
            print(f"iter {step} loss {loss.item():.6f}")
    print("weight sum:", sum(p.double().sum().item() for p in model.parameters()))


if __name__ == "__main__":
    main()
