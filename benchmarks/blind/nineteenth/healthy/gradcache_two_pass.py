"""Contrastive learning with a large batch on little memory (GradCache): embeddings are computed
twice; the loss is back-propagated to the embeddings only, and the cached gradients are replayed
chunk by chunk through a surrogate dot product."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class Tower(nn.Module):
    def __init__(self, d_in, dim=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_in, 96), nn.LayerNorm(96), nn.GELU(), nn.Linear(96, dim))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


class PairModel(nn.Module):
    """Upper half of a digit against its lower half."""

    def __init__(self):
        super().__init__()
        self.upper, self.lower = Tower(32), Tower(32)
        self.logit_scale = nn.Parameter(torch.tensor(2.0))


def pair_loss(u, v, scale):
    logits = scale.clamp(max=4.6).exp() * u @ v.t()
    target = torch.arange(len(u))
    return 0.5 * (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target))


def cached_step(model, upper, lower, chunk):
    with torch.no_grad():
        u = torch.cat([model.upper(c) for c in upper.split(chunk)])
        v = torch.cat([model.lower(c) for c in lower.split(chunk)])
    u.requires_grad_(True)
    v.requires_grad_(True)
    loss = pair_loss(u, v, model.logit_scale)
    loss.backward()
    for tower, data, grad in ((model.upper, upper, u.grad), (model.lower, lower, v.grad)):
        for c, g in zip(data.split(chunk), grad.split(chunk)):
            surrogate = (tower(c) * g).sum()
            surrogate.backward()
    return loss.detach()


@torch.no_grad()
def recall(model, upper, lower):
    model.eval()
    sim = model.upper(upper) @ model.lower(lower).t()
    top = sim.topk(5, dim=1).indices
    return (top == torch.arange(len(upper)).unsqueeze(1)).any(1).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--chunk", type=int, default=64)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    x = torch.tensor(load_digits().data, dtype=torch.float32) / 16.0
    x = x[torch.randperm(len(x))]
    train, test = x[:1500], x[1500:]
    model = PairModel()
    optimizer = torch.optim.AdamW([
        {"params": [p for n, p in model.named_parameters() if n != "logit_scale"], "weight_decay": 0.01},
        {"params": [model.logit_scale], "weight_decay": 0.0},
    ], lr=args.lr)
    for step in range(args.steps):
        model.train()
        batch = train[torch.randint(0, len(train), (args.batch_size,))]
        optimizer.zero_grad(set_to_none=True)
        loss = cached_step(model, batch[:, :32], batch[:, 32:], args.chunk)
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step:3d} loss {loss.item():.4f} scale {model.logit_scale.exp().item():.2f}")
    print(f"EVIDENCE recall_at_5={recall(model, test[:, :32], test[:, 32:]):.4f}")


if __name__ == "__main__":
    main()
