"""Message passing network that predicts the energy of small synthetic molecules."""
import argparse
import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split

ATOM_TYPES = 6


@dataclass
class Molecule:
    atoms: torch.Tensor       # [n] atom types
    edge_index: torch.Tensor  # [2, e], both directions
    energy: float


@dataclass
class Batch:
    atoms: torch.Tensor
    edge_index: torch.Tensor
    graph_id: torch.Tensor
    energy: torch.Tensor
    num_graphs: int


class MoleculeSet(Dataset):
    """Random trees with a few ring closures; the energy is a sum over bonds and over bond angles."""

    def __init__(self, size, seed):
        g = torch.Generator().manual_seed(seed + 4242)
        pair = torch.randn(ATOM_TYPES, ATOM_TYPES, generator=g)
        self.pair = pair + pair.T
        self.molecules = [self.grow(g) for _ in range(size)]
        energies = torch.tensor([m.energy for m in self.molecules])
        self.mean, self.std = energies.mean().item(), energies.std().item()

    def grow(self, g):
        n = int(torch.randint(5, 14, (1,), generator=g))
        atoms = torch.randint(ATOM_TYPES, (n,), generator=g)
        edges = [(int(torch.randint(i, (1,), generator=g)), i) for i in range(1, n)]
        for _ in range(int(torch.randint(3, (1,), generator=g))):
            a, b = torch.randint(n, (2,), generator=g).tolist()
            if a != b and (a, b) not in edges and (b, a) not in edges:
                edges.append((a, b))
        src, dst = torch.tensor(edges).T
        degree = torch.bincount(torch.cat([src, dst]), minlength=n).float()
        energy = self.pair[atoms[src], atoms[dst]].sum() + 0.3 * (degree * (degree - 1)).sum()
        edge_index = torch.stack([torch.cat([src, dst]), torch.cat([dst, src])])
        return Molecule(atoms, edge_index, energy.item() / math.sqrt(n))

    def __len__(self):
        return len(self.molecules)

    def __getitem__(self, i):
        return self.molecules[i]


def collate(molecules):
    """Put the graphs of a batch next to one another into a single disconnected graph."""
    atoms, edges, graph_id = [], [], []
    offset = 0
    for i, mol in enumerate(molecules):
        atoms.append(mol.atoms)
        edges.append(mol.edge_index + offset)
        graph_id.append(torch.full_like(mol.atoms, i))
        offset += len(mol.atoms)
    return Batch(torch.cat(atoms), torch.cat(edges, dim=1), torch.cat(graph_id),
                 torch.tensor([m.energy for m in molecules]), len(molecules))


class MessageLayer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.message = nn.Sequential(nn.Linear(2 * width, width), nn.SiLU(), nn.Linear(width, width))
        self.update = nn.Sequential(nn.Linear(2 * width, width), nn.SiLU(), nn.Linear(width, width))
        self.norm = nn.LayerNorm(width)

    def forward(self, h, edge_index):
        src, dst = edge_index
        msg = self.message(torch.cat([h[src], h[dst]], dim=1))
        agg = torch.zeros_like(h).index_add_(0, dst, msg)
        return h + self.norm(self.update(torch.cat([h, agg], dim=1)))


class EnergyNet(nn.Module):
    def __init__(self, width=40, depth=3):
        super().__init__()
        self.embed = nn.Embedding(ATOM_TYPES, width)
        self.layers = nn.ModuleList(MessageLayer(width) for _ in range(depth))
        self.readout = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, batch):
        h = self.embed(batch.atoms)
        for layer in self.layers:
            h = layer(h, batch.edge_index)
        per_atom = self.readout(h).squeeze(-1)
        size = torch.bincount(batch.graph_id, minlength=batch.num_graphs)
        total = torch.zeros(batch.num_graphs).index_add_(0, batch.graph_id, per_atom)
        return total / size.sqrt()


@torch.no_grad()
def evaluate(model, loader, mean, std):
    model.eval()
    err, n = 0.0, 0
    for batch in loader:
        pred = model(batch) * std + mean
        err += (pred - batch.energy).abs().sum().item()
        n += batch.num_graphs
    model.train()
    return err / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=300)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)

    data = MoleculeSet(1500, args.seed)
    train_set, val_set = random_split(data, [1200, 300])
    train_loader = DataLoader(train_set, batch_size=32, shuffle=True, collate_fn=collate)
    val_loader = DataLoader(val_set, batch_size=100, collate_fn=collate)
    model = EnergyNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.95)

    step, epoch = 0, 0
    while step < args.steps:
        for batch in train_loader:
            target = (batch.energy - data.mean) / data.std
            loss = nn.functional.smooth_l1_loss(model(batch), target)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            step += 1
            if step >= args.steps:
                break
        schedule.step()
        epoch += 1
        if epoch % 3 == 0:
            print(f"epoch {epoch:3d} loss {loss.item():.4f} val mae {evaluate(model, val_loader, data.mean, data.std):.4f}")

    print(f"EVIDENCE val_mae={evaluate(model, val_loader, data.mean, data.std):.4f} energy_std={data.std:.4f}")


if __name__ == "__main__":
    main()
