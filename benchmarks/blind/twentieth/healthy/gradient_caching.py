"""Large batch contrastive training in little memory: embeddings without graph first, their gradients are cached and replayed chunk by chunk."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def pairs(n, gen):
    """Two microphones record the same source."""
    source = torch.randn(n, 6, generator=gen)
    mix_a = torch.randn(6, 20, generator=torch.Generator().manual_seed(1))
    mix_b = torch.randn(6, 20, generator=torch.Generator().manual_seed(2))
    noise = lambda: 0.7 * torch.randn(n, 20, generator=gen)
    return source @ mix_a + noise(), source @ mix_b + noise()


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.LayerNorm(64), nn.Linear(64, 16))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


def contrastive(za, zb, temperature=0.1):
    logits = za @ zb.T / temperature
    label = torch.arange(len(za))
    return 0.5 * (F.cross_entropy(logits, label) + F.cross_entropy(logits.T, label))


def cached_step(encoder_a, encoder_b, xa, xb, chunk):
    with torch.no_grad():
        za = torch.cat([encoder_a(c) for c in xa.split(chunk)])
        zb = torch.cat([encoder_b(c) for c in xb.split(chunk)])
    za, zb = za.requires_grad_(), zb.requires_grad_()
    loss = contrastive(za, zb)
    loss.backward()
    for encoder, x, cache in ((encoder_a, xa, za.grad), (encoder_b, xb, zb.grad)):
        for part, grad in zip(x.split(chunk), cache.split(chunk)):
            (encoder(part) * grad).sum().backward()
    return loss.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=120)
    ap.add_argument("--chunk", type=int, default=16)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(args.seed)
    a, b = Encoder(), Encoder()
    optimizer = torch.optim.AdamW(list(a.parameters()) + list(b.parameters()), lr=args.lr)
    for step in range(1, args.steps + 1):
        xa, xb = pairs(96, gen)
        optimizer.zero_grad()
        loss = cached_step(a, b, xa, xb, args.chunk)
        if step == 1:
            cached = [p.grad.clone() for p in a.parameters()]
            direct = torch.autograd.grad(contrastive(a(xa), b(xb)), list(a.parameters()))
            print("largest difference to the direct gradient", max((c - d).abs().max().item() for c, d in zip(cached, direct)))
        optimizer.step()
        if step % 30 == 0:
            print(f"step {step} loss {loss:.4f}")
    with torch.no_grad():
        xa, xb = pairs(200, torch.Generator().manual_seed(50))
        hit = ((a(xa) @ b(xb).T).argmax(1) == torch.arange(200)).float().mean().item()
    print(f"RESULT recall={hit:.3f} loss={loss:.4f}")


if __name__ == "__main__":
    main()
