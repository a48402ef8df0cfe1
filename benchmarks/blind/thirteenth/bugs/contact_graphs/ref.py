"""Energy of small chain molecules from two edge sets: bonds along the chain and contacts in space."""

import argparse
import random

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=300)
parser.add_argument("--batch-size", type=int, default=32)
args = parser.parse_args()
random.seed(args.seed)
torch.manual_seed(args.seed)
torch.set_num_threads(1)

KINDS = 5
PAIR = torch.tensor([[0.0, 1.0, -1.0, 0.5, 0.0],
                     [1.0, -0.5, 0.8, 0.0, -1.0],
                     [-1.0, 0.8, 0.3, -0.7, 0.6],
                     [0.5, 0.0, -0.7, 1.0, -0.4],
                     [0.0, -1.0, 0.6, -0.4, -0.8]])


def both_ways(pairs):
    return torch.cat([pairs, pairs.flip(0)], dim=1)


def make_molecule():
    n = random.randint(8, 16)
    kind = torch.randint(0, KINDS, (n,))
    pos = torch.cumsum(nn.functional.normalize(torch.randn(n, 3), dim=1), dim=0)
    bonds = torch.stack([torch.arange(n - 1), torch.arange(1, n)])
    dist = torch.cdist(pos, pos)
    i, j = torch.triu_indices(n, n, offset=2)
    near = dist[i, j] < 1.7
    contacts = torch.stack([i[near], j[near]])
    energy = PAIR[kind[contacts[0]], kind[contacts[1]]].sum() - 0.3 * (kind[1:] == kind[:-1]).sum()
    return {"kind": kind, "bonds": both_ways(bonds), "contacts": both_ways(contacts), "y": energy}


def collate(mols):
    kind, bonds, contacts, owner = [], [], [], []
    first = 0
    for m, mol in enumerate(mols):
        n = len(mol["kind"])
        kind.append(mol["kind"])
        bonds.append(mol["bonds"] + first)
        contacts.append(mol["contacts"] + first)
        owner.append(torch.full((n,), m))
        first += n
    y = torch.stack([mol["y"] for mol in mols])
    return torch.cat(kind), torch.cat(bonds, 1), torch.cat(contacts, 1), torch.cat(owner), y


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bond = nn.Sequential(nn.Linear(2 * width, width), nn.SiLU())
        self.contact = nn.Sequential(nn.Linear(2 * width, width), nn.SiLU())
        self.update = nn.Sequential(nn.Linear(3 * width, width), nn.SiLU(), nn.Linear(width, width))

    def gather(self, net, h, edges):
        src, dst = edges
        msg = net(torch.cat([h[src], h[dst]], dim=1))
        return torch.zeros_like(h).index_add(0, dst, msg)

    def forward(self, h, bonds, contacts):
        m1 = self.gather(self.bond, h, bonds)
        m2 = self.gather(self.contact, h, contacts)
        return h + self.update(torch.cat([h, m1, m2], dim=1))


class EnergyNet(nn.Module):
    def __init__(self, width=32, depth=2):
        super().__init__()
        self.embed = nn.Embedding(KINDS, width)
        self.layers = nn.ModuleList([Layer(width) for _ in range(depth)])
        self.head = nn.Linear(width, 1)

    def forward(self, kind, bonds, contacts, owner, count):
        h = self.embed(kind)
        for layer in self.layers:
            h = layer(h, bonds, contacts)
        return torch.zeros(count).index_add(0, owner, self.head(h).squeeze(1))


train = [make_molecule() for _ in range(900)]
test = [make_molecule() for _ in range(200)]
net = EnergyNet()
opt = torch.optim.Adam(net.parameters(), lr=args.lr)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.steps)

for step in range(args.steps):
    kind, bonds, contacts, owner, y = collate(random.sample(train, args.batch_size))
    pred = net(kind, bonds, contacts, owner, len(y))
    loss = nn.functional.mse_loss(pred, y)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 5.0)
    opt.step()
    sched.step()
    if step % 100 == 0:
        print(f"step {step} loss {loss.item():.3f}")

net.eval()
with torch.no_grad():
    kind, bonds, contacts, owner, y = collate(test)
    pred = net(kind, bonds, contacts, owner, len(y))
    rmse = (pred - y).pow(2).mean().sqrt().item()
print(f"EVIDENCE test rmse {rmse:.3f} of a spread of {y.std().item():.3f}")
