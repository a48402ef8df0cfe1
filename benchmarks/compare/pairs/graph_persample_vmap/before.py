"""Graph classification with gradients clipped graph by graph."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

NODES = 14


def random_graph(kind, gen):
    """Rings with chords (0), two cliques with bridges (1), stars (2)."""
    a = torch.zeros(NODES, NODES)
    if kind == 0:
        for i in range(NODES):
            a[i, (i + 1) % NODES] = 1
    elif kind == 1:
        half = NODES // 2
        a[:half, :half] = (torch.rand(half, half, generator=gen) < 0.6).float()
        a[half:, half:] = (torch.rand(half, half, generator=gen) < 0.6).float()
    else:
        hub = int(torch.randint(NODES, (1,), generator=gen))
        a[hub] = (torch.rand(NODES, generator=gen) < 0.8).float()
    a = torch.maximum(a, (torch.rand(NODES, NODES, generator=gen) < 0.06).float())
    a = torch.maximum(a, a.t())
    a.fill_diagonal_(1.0)
    return a


def make_data(n, gen):
    labels = torch.randint(3, (n,), generator=gen)
    adj = torch.stack([random_graph(int(k), gen) for k in labels])
    deg = adj.sum(-1, keepdim=True)
    feats = torch.cat([deg / NODES, (deg > 4).float(), torch.ones_like(deg)], dim=-1)
    norm = deg.rsqrt() * adj * deg.rsqrt().transpose(1, 2)
    return norm, feats, labels


class GCN(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.lin1 = nn.Linear(3, width)
        self.lin2 = nn.Linear(width, width)
        self.out = nn.Linear(2 * width, 3)

    def forward(self, adj, x):
        h = torch.relu(adj @ self.lin1(x))
        h = torch.relu(adj @ self.lin2(h))
        return self.out(torch.cat([h.mean(-2), h.amax(-2)], dim=-1))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-2)
    ap.add_argument("--steps", type=int, default=40)
    ap.add_argument("--clip", type=float, default=1.0)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 1)
    adj, feats, labels = make_data(420, gen)
    cut = 320

    model = GCN()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    params = dict(model.named_parameters())

    for step in range(args.steps):
        idx = torch.randint(cut, (32,), generator=gen)
        per_graph = []
        losses = []
        for i in idx.tolist():
            value = F.cross_entropy(model(adj[i], feats[i]), labels[i])
            per_graph.append(torch.autograd.grad(value, list(params.values())))
            losses.append(value.detach())
        grads = [torch.stack(g) for g in zip(*per_graph)]
        losses = torch.stack(losses)

        norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads]).norm(dim=0)
        scale = (args.clip / (norms + 1e-6)).clamp(max=1.0)
        for p, g in zip(params.values(), grads):
            p.grad = torch.einsum("b,b...->...", scale, g) / len(idx)
        opt.step()
        if step % 8 == 0 or step == args.steps - 1:
            print(f"step {step} loss {losses.mean().item():.8f} clipped {(scale < 1).sum().item()}")

    with torch.no_grad():
        acc = (model(adj[cut:], feats[cut:]).argmax(-1) == labels[cut:]).float().mean().item()
    print(f"EVIDENCE acc={acc:.4f}")


if __name__ == "__main__":
    main()
