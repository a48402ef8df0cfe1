"""Muon for the matrices of a small transformer, AdamW for the rest; both with decoupled weight decay."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LENGTH = 20, 12


@torch.no_grad()
def newton_schulz(g, steps=5):
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g / (g.norm() + 1e-7)
    turned = x.shape[0] > x.shape[1]
    x = x.T if turned else x
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if turned else x


class Muon(torch.optim.Optimizer):
    """Momentum, made orthogonal. What a step takes off is gathered in `update` and taken off at the end."""

    def __init__(self, params, lr=0.02, momentum=0.95, weight_decay=0.1, nesterov=True):
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay, nesterov=nesterov))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                buffer = state.setdefault("momentum_buffer", torch.zeros_like(p))
                buffer.lerp_(p.grad, 1 - group["momentum"])
                g = p.grad.lerp(buffer, group["momentum"]) if group["nesterov"] else buffer
                update = newton_schulz(g) * max(1, p.shape[0] / p.shape[1]) ** 0.5
                t = p
                if group["weight_decay"]:
                    t = t * (1 - group["lr"] * group["weight_decay"])
                p.copy_(t - group["lr"] * update)


class Block(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 2 * width, bias=False), nn.Linear(2 * width, width, bias=False)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.norms[0](x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.relu(self.up(self.norms[1](x))).square())


class LM(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed, self.places = nn.Embedding(VOCAB, width), nn.Embedding(LENGTH, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, VOCAB)

    def forward(self, ids):
        x = self.embed(ids) + self.places.weight[:ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def rows(gen, size):
    """Rows count in steps of one to three; an eighth of all tokens is noise."""
    start, stride = torch.randint(0, VOCAB, (size, 1), generator=gen), torch.randint(1, 4, (size, 1), generator=gen)
    ids = (start + stride * torch.arange(LENGTH + 1)) % VOCAB
    noise = torch.randint(0, VOCAB, ids.shape, generator=gen)
    return torch.where(torch.rand(ids.shape, generator=gen) < 0.125, noise, ids)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.04)
    ap.add_argument("--steps", type=int, default=80)
    ap.add_argument("--weight-decay", type=float, default=0.3)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model, data = LM(), rows(gen, 256)               # few rows: without decay they are learned by heart
    matrices = [p for n, p in model.blocks.named_parameters() if p.ndim == 2]
    rest = [p for p in model.parameters() if not any(p is m for m in matrices)]
    optimizers = [Muon(matrices, lr=args.lr, weight_decay=args.weight_decay),
                  torch.optim.AdamW(rest, lr=args.lr / 10, weight_decay=args.weight_decay)]
    start = sum(p.norm().item() ** 2 for p in matrices) ** 0.5
    for step in range(args.steps):
        ids = data[torch.randint(0, len(data), (24,), generator=gen)]
        loss = F.cross_entropy(model(ids[:, :-1])[:, 1:].flatten(0, 1), ids[:, 2:].flatten())
        model.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        if step % 40 == 39:
            print(f"step {step + 1} loss {loss.item():.4f}")
    norm = sum(p.norm().item() ** 2 for p in matrices) ** 0.5
    with torch.no_grad():
        ids = rows(torch.Generator().manual_seed(99), 128)
        held = F.cross_entropy(model(ids[:, :-1])[:, 1:].flatten(0, 1), ids[:, 2:].flatten()).item()
    print(f"EVIDENCE norm_before={start:.3f} norm={norm:.3f} train={loss.item():.4f} held_out={held:.4f}")


if __name__ == "__main__":
    main()
