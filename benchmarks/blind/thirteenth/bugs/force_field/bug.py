"""A neural force field for clusters of six particles, trained on energies and forces of a Morse potential."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=4e-3)
parser.add_argument("--steps", type=int, default=360)
parser.add_argument("--force-weight", type=float, default=0.9)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

ATOMS = 6
ROW, COL = torch.triu_indices(ATOMS, ATOMS, offset=1)


def pair_distances(pos):
    return (pos[:, ROW] - pos[:, COL]).norm(dim=-1)


def morse(pos, depth=1.0, width=1.5, rest=1.2):
    r = pair_distances(pos)
    return (depth * (1 - torch.exp(-width * (r - rest))) ** 2 - depth).sum(dim=1)


def sample_clusters(n):
    base = torch.tensor([[1., 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]]) * 0.95
    pos = (base + 0.12 * torch.randn(n, ATOMS, 3)).requires_grad_()
    energy = morse(pos)
    forces = -torch.autograd.grad(energy.sum(), pos)[0]
    return pos.detach(), energy.detach(), forces.detach()


class PairPotential(nn.Module):
    """Radial basis of each distance, two layers per pair, then a readout over particle environments."""

    def __init__(self, basis=16, width=32):
        super().__init__()
        self.register_buffer("centers", torch.linspace(0.6, 2.8, basis))
        self.gamma = 8.0
        self.edge = nn.Sequential(nn.Linear(basis, width), nn.SiLU(), nn.Linear(width, width))
        self.atom = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))
        self.register_buffer("shift", torch.zeros(()))
        self.register_buffer("scale", torch.ones(()))

    def energy(self, pos):
        r = pair_distances(pos).unsqueeze(-1)
        e = self.edge(torch.exp(-self.gamma * (r - self.centers) ** 2))
        env = torch.zeros(pos.shape[0], ATOMS, e.shape[-1])
        env = env.index_add(1, ROW, e).index_add(1, COL, e)
        return self.atom(env).sum(dim=(1, 2)) * self.scale + self.shift

    def forward(self, pos, training=True):
        pos = pos.detach().requires_grad_()
        energy = self.energy(pos)
        grads = torch.autograd.grad(energy.sum(), pos, retain_graph=training)[0]
        return energy, -grads


def force_mae(net, pos, forces):
    _, pred = net(pos, training=False)
    return (pred - forces).abs().mean().item()


pos, energy, forces = sample_clusters(256)
val_pos, val_energy, val_forces = sample_clusters(256)
net = PairPotential()
net.shift.copy_(energy.mean())
net.scale.copy_(energy.std())

opt = torch.optim.Adam(net.parameters(), lr=args.lr)
sched = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.05 ** (1 / args.steps))
for step in range(args.steps):
    pick = torch.randint(0, len(pos), (32,))
    e, f = net(pos[pick])
    loss_e = nn.functional.mse_loss(e, energy[pick])
    loss_f = nn.functional.mse_loss(f, forces[pick])
    loss = (1 - args.force_weight) * loss_e + args.force_weight * loss_f
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 10.0)
    opt.step()
    sched.step()
    if step % 90 == 0:
        print(f"step {step} energy {loss_e.item():.4f} forces {loss_f.item():.4f}")

final = force_mae(net, val_pos, val_forces)
with torch.no_grad():
    e_mae = (net.energy(val_pos) - val_energy).abs().mean().item()
print(f"EVIDENCE force error {final:.3f} of a mean size {val_forces.abs().mean().item():.3f}, energy error {e_mae:.3f}")
