"""Graph regression on made-up molecules: message passing by index_add and scatter_reduce, dropped edges."""
import argparse
import random

import torch
from torch import nn

ATOM_WEIGHT = torch.tensor([1.0, -0.5, 0.3, 0.8])


def random_molecule(rng):
    n = rng.randint(4, 14)
    edges = [(i, rng.randrange(i)) for i in range(1, n)]               # a tree ...
    for _ in range(rng.randint(0, 3)):                                  # ... and some rings
        i, j = rng.sample(range(n), 2)
        if (i, j) not in edges and (j, i) not in edges:
            edges.append((i, j))
    z = torch.tensor([rng.randrange(4) for _ in range(n)])
    src, dst = torch.tensor(edges + [(j, i) for i, j in edges]).t()
    w = ATOM_WEIGHT[z]
    degree = torch.bincount(dst, minlength=n)
    y = (w[src] * w[dst]).sum() / 2 + 0.2 * (degree * w).sum()
    return z, torch.stack([src, dst]), y


def collate(graphs):
    zs, edges, batch, offset = [], [], [], 0
    for g, (z, e, _) in enumerate(graphs):
        zs.append(z)
        edges.append(e + offset)
        batch.append(torch.full((len(z),), g))
        offset += len(z)
    return torch.cat(zs), torch.cat(edges, 1), torch.cat(batch), torch.stack([y for _, _, y in graphs])


class MessagePassing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.msg = nn.Sequential(nn.Linear(2 * dim, dim), nn.ReLU())
        self.upd = nn.GRUCell(2 * dim, dim)

    def forward(self, h, edges):
        src, dst = edges
        m = self.msg(torch.cat([h[src], h[dst]], 1))
        total = torch.zeros_like(h).index_add(0, dst, m)
        biggest = torch.zeros_like(h).scatter_reduce(0, dst[:, None].expand_as(m), m, "amax", include_self=True)
        return self.upd(torch.cat([total, biggest], 1), h)


class MoleculeNet(nn.Module):
    def __init__(self, dim=32, rounds=2, p_edge=0.02):
        super().__init__()
        self.embed = nn.Embedding(4, dim)
        self.layers = nn.ModuleList(MessagePassing(dim) for _ in range(rounds))
        self.readout = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 1))
        self.p_edge = p_edge

    def forward(self, z, edges, batch, n_graphs):
        if self.training and self.p_edge > 0:
            edges = edges[:, torch.rand(edges.shape[1]) >= self.p_edge]
        h = self.embed(z)
        for layer in self.layers:
            h = layer(h, edges)
        per_atom = self.readout(h).squeeze(1)
        return torch.zeros(n_graphs).index_add(0, batch, per_atom)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = random.Random(args.seed)
    graphs = [random_molecule(rng) for _ in range(1200)]
    train, test = graphs[:1000], collate(graphs[1000:])
    y_train = torch.stack([y for _, _, y in train])
    mean, std = y_train.mean(), y_train.std()
    model = MoleculeNet()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.StepLR(opt, step_size=max(1, args.steps // 3), gamma=0.4)
    pool = []
    for step in range(1, args.steps + 1):
        if len(pool) < 32:
            pool = rng.sample(train, len(train))
        take, pool = pool[:32], pool[32:]
        z, edges, batch, y = collate(take)
        model.train()
        pred = model(z, edges, batch, len(y))
        loss = nn.functional.smooth_l1_loss(pred, (y - mean) / std)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        opt.step()
        sched.step()
        if step % 50 == 0 or step == args.steps:
            model.eval()
            with torch.no_grad():
                out = model(*test[:3], len(test[3])) * std + mean
            mae = (out - test[3]).abs().mean().item()
            base = (test[3] - mean).abs().mean().item()
            print(f"step {step}: loss {loss.item():.4f}, {len(z)} atoms, {edges.shape[1]} edges, "
                  f"test MAE {mae:.3f} (of the mean {base:.3f})")


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
