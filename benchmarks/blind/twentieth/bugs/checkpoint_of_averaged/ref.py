"""Energies of small clusters of atoms; weights are averaged (EMA) and validated as average; the run is cut and resumed."""
import argparse
import copy
import os
import tempfile

import torch
import torch.nn as nn


def clusters(n, seed, atoms=4):
    g = torch.Generator().manual_seed(seed)
    pos = torch.rand(n, atoms, 3, generator=g) * 2.5 + torch.arange(atoms)[None, :, None] * 0.6
    i, j = torch.triu_indices(atoms, atoms, 1)
    r = (pos[:, i] - pos[:, j]).norm(dim=-1).clamp_min(0.8)
    return r, (r ** -6 - r ** -3).sum(1)


class PairEnergy(nn.Module):
    def __init__(self, basis=20, width=48):
        super().__init__()
        self.register_buffer("centres", torch.linspace(0.5, 5.0, basis))
        self.mlp = nn.Sequential(nn.Linear(basis, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, r):
        rbf = torch.exp(-4 * (r[..., None] - self.centres) ** 2)
        return self.mlp(rbf).squeeze(-1).sum(1)


class EMA:
    def __init__(self, params, decay=0.98):
        self.decay, self.shadow, self.collected = decay, [p.detach().clone() for p in params], None

    @torch.no_grad()
    def update(self, params):
        for s, p in zip(self.shadow, params):
            s.lerp_(p, 1 - self.decay)

    def store(self, params):
        self.collected = [p.detach().clone() for p in params]

    @torch.no_grad()
    def copy_to(self, params):
        for s, p in zip(self.shadow, params):
            p.copy_(s)

    @torch.no_grad()
    def restore(self, params):
        for c, p in zip(self.collected, params):
            p.copy_(c)


class Run:
    def __init__(self, args, folder):
        torch.manual_seed(args.seed)
        self.args, self.path = args, os.path.join(folder, "last.pt")
        self.model = PairEnergy()
        self.params = list(self.model.parameters())
        self.optimizer = torch.optim.Adam(self.params, lr=args.lr)
        self.ema = EMA(self.params)
        self.train_set, self.val_set = clusters(1500, args.seed), clusters(300, args.seed + 1)
        self.gen = torch.Generator().manual_seed(args.seed)

    def validate(self):
        self.ema.store(self.params)
        self.ema.copy_to(self.params)
        with torch.no_grad():
            mae = (self.model(self.val_set[0]) - self.val_set[1]).abs().mean().item()
        self.ema.restore(self.params)
        self.save()
        return mae

    def save(self):
        torch.save(copy.deepcopy({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
                                  "shadow": self.ema.shadow}), self.path)

    def load(self):
        ckpt = torch.load(self.path)
        self.model.load_state_dict(ckpt["model"])
        self.optimizer.load_state_dict(ckpt["optimizer"])
        self.ema.shadow = ckpt["shadow"]

    def train(self, steps):
        for step in range(steps):
            idx = torch.randint(0, len(self.train_set[1]), (64,), generator=self.gen)
            loss = nn.functional.mse_loss(self.model(self.train_set[0][idx]), self.train_set[1][idx])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.ema.update(self.params)
            if (step + 1) % 40 == 0:
                print(f"step {step + 1} loss {loss.item():.4f} val_mae {self.validate():.4f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=200)
    args = ap.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        first = Run(args, folder)
        first.train(args.steps // 2 // 40 * 40 or 40)
        second = Run(args, folder)
        second.load()
        gap = sum((a - b).pow(2).sum() for a, b in zip(first.params, second.params)).sqrt().item()
        second.train(args.steps // 2)
    print(f"EVIDENCE weights_moved_by_resume={gap:.5f}")


if __name__ == "__main__":
    main()
