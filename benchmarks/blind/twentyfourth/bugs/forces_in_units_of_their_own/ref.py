"""A message-passing network for energies of small clusters; forces come out of its gradient. Targets are normalized."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn

ATOMS = 5


def clusters(gen, n):
    """Positions, energies and forces of a pair potential."""
    base = torch.tensor([[0., 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]) * 1.3
    position = (base + 0.12 * torch.randn(n, ATOMS, 3, generator=gen)).requires_grad_()
    i, j = torch.triu_indices(ATOMS, ATOMS, 1)
    distance = (position[:, i] - position[:, j]).norm(dim=-1)
    energy = (4 * (torch.exp(-2 * (distance - 1.4)) - 2 * torch.exp(-(distance - 1.4)))).sum(1)
    force = -torch.autograd.grad(energy.sum(), position)[0]
    return position.detach(), energy.detach(), force.detach()


class Normalizer:
    def __init__(self, mean, std):
        self.mean, self.std = mean, std

    def norm(self, x):
        return (x - self.mean) / self.std

    def denorm(self, x):
        return x * self.std + self.mean


class Potential(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.centres = nn.Parameter(torch.linspace(0.6, 3.4, 12), requires_grad=False)
        self.message = nn.Sequential(nn.Linear(12, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.atom = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, position):
        difference = position[:, :, None] - position[:, None]
        other = ~torch.eye(ATOMS, dtype=torch.bool)
        distance = difference[:, other].view(len(position), ATOMS, ATOMS - 1, 3).norm(dim=-1)
        basis = torch.exp(-8 * (distance[..., None] - self.centres) ** 2)
        return self.atom(self.message(basis).sum(2)).squeeze(-1).sum(1)


def predict(model, position, train=True):
    position = position.clone().requires_grad_()
    energy = model(position)
    force = -torch.autograd.grad(energy.sum(), position, create_graph=train)[0]
    return energy, force


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=150)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 45)
    _, energies, forces = clusters(gen, 500)
    energy_norm = Normalizer(energies.mean(), energies.std())
    # a force is a derivative of the energy, and has to be measured in the same unit
    force_norm = Normalizer(0.0, energies.std())
    model = Potential()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        position, energy, force = clusters(gen, 32)
        guess, slope = predict(model, position)
        energy_loss = F.mse_loss(guess, energy_norm.norm(energy))
        force_loss = F.mse_loss(slope, force_norm.norm(force))
        loss = energy_loss + force_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % 30 == 0:
            print(f"step {step + 1} energy {energy_loss.item():.4f} force {force_loss.item():.4f}")
    position, energy, force = clusters(torch.Generator().manual_seed(222), 300)
    guess, slope = predict(model, position, train=False)
    slope = slope.detach() * energy_norm.std
    ratio = ((slope * force).sum() / (force * force).sum()).item()
    error = (energy_norm.denorm(guess.detach()) - energy).abs().mean().item()
    print(f"EVIDENCE force_to_true_force={ratio:.4f} energy_error={error:.4f}")


if __name__ == "__main__":
    main()
