"""Energies and forces of small clusters; batches hold so many atoms, not so many molecules."""
import argparse
import copy
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn


@dataclass
class Molecule:
    z: torch.Tensor  # kinds, 0..2
    pos: torch.Tensor
    energy: float
    force: torch.Tensor


SELF_ENERGY = torch.tensor([-13.6, -37.8, -54.5])


def label(z, pos):
    pos = pos.clone().requires_grad_(True)
    i, j = torch.triu_indices(len(z), len(z), 1)
    d = (pos[i] - pos[j]).square().sum(1).add(1e-9).sqrt()
    size = 0.9 + 0.15 * (z[i] + z[j])
    well = (0.4 + 0.2 * (z[i] != z[j])) * ((1 - torch.exp(-1.3 * (d - size))) ** 2 - 1)
    energy = (well * torch.exp(-((d / 4) ** 4))).sum()
    (g,) = torch.autograd.grad(energy, pos)
    return Molecule(z, pos.detach(), (energy + SELF_ENERGY[z].sum()).item(), -g)


def build(n, rng):
    out = []
    while len(out) < n:
        m = int(rng.integers(3, 10))
        pos = rng.normal(size=(m, 3)) * 0.55 * m**0.45
        gap = np.linalg.norm(pos[:, None] - pos[None], axis=-1) + 9 * np.eye(m)
        if gap.min() < 0.75:
            continue  # too close together, thrown again
        out.append(label(torch.tensor(rng.integers(0, 3, m)), torch.tensor(pos, dtype=torch.float32)))
    return out


class BudgetBatches:
    """Molecules of like size together; the order of batches changes, a molecule beyond the budget is left out."""

    def __init__(self, molecules, atoms, rng):
        self.molecules, self.atoms, self.rng = molecules, atoms, rng

    def __iter__(self):
        noise = self.rng.random(len(self.molecules)) * 3
        order = np.argsort([len(m.z) + e for m, e in zip(self.molecules, noise)])
        batches, now, count = [], [], 0
        for k in order:
            size = len(self.molecules[k].z)
            if size > self.atoms:
                continue
            if count + size > self.atoms:
                batches.append(now)
                now, count = [], 0
            now.append(self.molecules[k])
            count += size
        if now:
            batches.append(now)
        for b in self.rng.permutation(len(batches)):
            yield join(batches[b])


def join(molecules):
    z = torch.cat([m.z for m in molecules])
    pos = torch.cat([m.pos for m in molecules])
    owner = torch.repeat_interleave(torch.arange(len(molecules)), torch.tensor([len(m.z) for m in molecules]))
    near = (owner[:, None] == owner[None]) & ~torch.eye(len(z), dtype=torch.bool)
    near &= torch.cdist(pos, pos) < 5.0
    energy = torch.tensor([m.energy for m in molecules])
    return z, pos, owner, near.nonzero().t(), energy, torch.cat([m.force for m in molecules])


class ClusterNet(nn.Module):
    def __init__(self, width=32, basis=12, rounds=2):
        super().__init__()
        self.kind = nn.Embedding(3, width)
        self.register_buffer("centres", torch.linspace(0.5, 5, basis))
        self.filters = nn.ModuleList(nn.Sequential(nn.Linear(basis, width), nn.SiLU(), nn.Linear(width, width)) for _ in range(rounds))
        self.updates = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width)) for _ in range(rounds))
        self.out = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))
        self.register_buffer("self_energy", torch.zeros(3))
        self.register_buffer("scale", torch.ones(()))

    def fit_self_energies(self, molecules):
        counts = torch.stack([torch.bincount(m.z, minlength=3) for m in molecules]).double()
        total = torch.tensor([m.energy for m in molecules]).double()[:, None]
        solved = torch.linalg.lstsq(counts, total).solution
        self.self_energy.copy_(solved[:, 0])
        self.scale.copy_((total - counts @ solved).std())

    def forward(self, z, pos, owner, edge, n, need_forces=False):
        with torch.enable_grad():
            if need_forces:
                pos = pos.detach().requires_grad_(True)
            h = self.kind(z)
            d = (pos[edge[0]] - pos[edge[1]]).square().sum(1).add(1e-9).sqrt()
            cut = 0.5 * (torch.cos(d * torch.pi / 5) + 1)
            rbf = torch.exp(-4 * (d[:, None] - self.centres) ** 2) * cut[:, None]
            for f, u in zip(self.filters, self.updates):
                h = h + u(torch.zeros_like(h).index_add(0, edge[1], h[edge[0]] * f(rbf) * cut[:, None]))
            per_atom = self.out(h).squeeze(1) * self.scale
            energy = torch.zeros(n).index_add(0, owner, per_atom)
            force = None
            if need_forces:
                (g,) = torch.autograd.grad(energy.sum(), pos, create_graph=self.training)
                force = -g
        return energy + torch.zeros(n).index_add(0, owner, self.self_energy[z]), force


@torch.no_grad()
def evaluate(model, molecules):
    model.eval()
    e_err, f_err = [], []
    for k in range(0, len(molecules), 50):
        z, pos, owner, edge, energy, force = join(molecules[k : k + 50])
        e, f = model(z, pos, owner, edge, len(energy), need_forces=True)
        e_err.append((e - energy).abs().detach())
        f_err.append((f - force).abs().mean(1))
    return torch.cat(e_err).mean().item(), torch.cat(f_err).mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=360)
    a = ap.parse_args()
    torch.manual_seed(a.seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(a.seed)
    molecules = build(700, rng)
    train, valid = molecules[:600], molecules[600:]
    model = ClusterNet()
    model.fit_self_energies(train)
    optimizer = torch.optim.AdamW(model.parameters(), lr=a.lr, amsgrad=True, weight_decay=0)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    average = copy.deepcopy(model).requires_grad_(False)
    step, skipped, with_forces, best, bad, typical = 0, 0, False, float("inf"), 0, None
    while step < a.steps and bad < 5:
        for z, pos, owner, edge, energy, force in BudgetBatches(train, 130, rng):
            model.train()
            e, f = model(z, pos, owner, edge, len(energy), need_forces=with_forces)
            size = torch.bincount(owner).float()
            loss = nn.functional.huber_loss(e / size, energy / size, delta=0.1)
            if with_forces:
                loss = 0.1 * loss + (f - force).norm(dim=1).mean()
            step += 1
            value = loss.item()
            if typical is not None and value > 8 * typical:
                skipped += 1  # a spike: nothing is learned from this batch
                typical = 0.9 * typical + 0.1 * 8 * typical
                continue
            typical = value if typical is None else 0.95 * typical + 0.05 * value
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 10.0)
            optimizer.step()
            with torch.no_grad():
                keep = min(0.99, (1 + step) / (10 + step))
                for p, q in zip(model.parameters(), average.parameters()):
                    q.mul_(keep).add_(p, alpha=1 - keep)
            if step >= a.steps:
                break
        e_mae, f_mae = evaluate(average, valid)
        print(f"{step:4d} energy {e_mae:.3f} force {f_mae:.3f} lr {optimizer.param_groups[0]['lr']:.1e} forces {with_forces}")
        if not with_forces:
            if e_mae < 0.6 * model.scale.item() or step > a.steps // 3:
                with_forces, typical = True, None
            continue
        plateau.step(f_mae)
        best, bad = (f_mae, 0) if f_mae < best else (best, bad + 1)
    print(f"EVIDENCE after {step} steps ({skipped} skipped) energy {e_mae:.3f} force {f_mae:.3f}")


if __name__ == "__main__":
    main()
