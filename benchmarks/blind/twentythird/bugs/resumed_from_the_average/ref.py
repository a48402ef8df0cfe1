"""Energies of small clusters of atoms. Validation uses averaged weights; the run is interrupted once and resumed."""
import argparse
import os
import tempfile

import torch
import torch.nn as nn


class Averager:
    """Exponential average of the weights, in the manner of torch_ema."""

    def __init__(self, parameters, decay):
        self.decay = decay
        self.shadow = [p.detach().clone() for p in parameters]
        self.collected = None

    @torch.no_grad()
    def update(self, parameters):
        for s, p in zip(self.shadow, parameters):
            s.lerp_(p, 1 - self.decay)

    def store(self, parameters):
        self.collected = [p.detach().clone() for p in parameters]

    @torch.no_grad()
    def copy_to(self, parameters):
        for s, p in zip(self.shadow, parameters):
            p.copy_(s)

    @torch.no_grad()
    def restore(self, parameters):
        for c, p in zip(self.collected, parameters):
            p.copy_(c)

    def state_dict(self):
        return {"shadow": self.shadow, "collected": self.collected}

    def load_state_dict(self, state):
        self.shadow, self.collected = state["shadow"], state["collected"]


class PairPotential(nn.Module):
    def __init__(self, kinds=3, width=32):
        super().__init__()
        self.kind = nn.Embedding(kinds, 8)
        self.pair = nn.Sequential(nn.Linear(24, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, kinds, positions):
        distance = (positions[:, :, None] - positions[:, None]).pow(2).sum(-1).add(1e-6).sqrt()
        radial = torch.exp(-4 * (distance[..., None] - torch.linspace(0.5, 3, 8)) ** 2)
        k = self.kind(kinds)
        first, second = torch.broadcast_tensors(k[:, :, None], k[:, None])
        energy = self.pair(torch.cat([first + second, first * second, radial], dim=-1)).squeeze(-1)
        return (energy * (1 - torch.eye(kinds.shape[1]))).sum((1, 2))


def clusters(gen, count=32, atoms=5):
    kinds = torch.randint(0, 3, (count, atoms), generator=gen)
    positions = torch.randn(count, atoms, 3, generator=gen)
    d = (positions[:, :, None] - positions[:, None]).norm(dim=-1)
    charge = torch.tensor([1.0, -1.0, 0.5])[kinds]
    pair = charge[:, :, None] * charge[:, None] * torch.exp(-d) * (1 - torch.eye(atoms))
    return kinds, positions, pair.sum((1, 2))


class Session:
    def __init__(self, args, folder):
        torch.manual_seed(args.seed)
        self.args, self.path = args, os.path.join(folder, "last.pt")
        self.model = PairPotential()
        self.weights = list(self.model.parameters())
        self.optimizer = torch.optim.Adam(self.weights, lr=args.lr)
        self.ema = Averager(self.weights, args.decay)
        self.step = 0

    def resume(self):
        state = torch.load(self.path)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.ema.load_state_dict(state["ema"])
        self.step = state["step"]
        self.ema.restore(self.weights)

    def validate_and_save(self):
        """The checkpoint is written while the average stands in the model."""
        self.ema.store(self.weights)
        self.ema.copy_to(self.weights)
        with torch.no_grad():
            kinds, positions, energy = clusters(torch.Generator().manual_seed(404), 256)
            loss = (self.model(kinds, positions) - energy).pow(2).mean().item()
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
                    "ema": self.ema.state_dict(), "step": self.step}, self.path)
        self.ema.restore(self.weights)
        return loss

    def fit(self, until):
        losses = []
        while self.step < until:
            kinds, positions, energy = clusters(torch.Generator().manual_seed(self.args.seed * 7919 + self.step))
            loss = (self.model(kinds, positions) - energy).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.ema.update(self.weights)
            self.step += 1
            losses.append(loss.item())
            if self.step % self.args.validate_every == 0:
                print(f"step {self.step} train {loss.item():.4f} validation {self.validate_and_save():.4f}")
        return losses


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=200)
    ap.add_argument("--decay", type=float, default=0.99)
    ap.add_argument("--validate-every", type=int, default=50)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        first = Session(args, folder)
        before = first.fit(args.steps // 2)
        second = Session(args, folder)
        second.resume()
        gap = sum((a - b).pow(2).sum() for a, b in zip(first.weights, second.weights)).sqrt().item()
        after = second.fit(args.steps)
        print(f"EVIDENCE gap_at_resume={gap:.5f} before={sum(before[-5:]) / 5:.4f} after={sum(after[:5]) / 5:.4f} "
              f"validation={second.validate_and_save():.4f}")


if __name__ == "__main__":
    main()
