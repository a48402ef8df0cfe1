"""Node classification on a stochastic block model graph with mean-aggregating layers."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

N_NODES, N_CLASSES, N_FEATURES = 800, 5, 24


def make_graph(seed):
    gen = torch.Generator().manual_seed(seed + 3)
    labels = torch.randint(0, N_CLASSES, (N_NODES,), generator=gen)
    same = labels[:, None] == labels[None]
    prob = torch.where(same, 0.02, 0.008)
    adj = torch.rand(N_NODES, N_NODES, generator=gen) < prob
    adj = (adj | adj.T).fill_diagonal_(False)
    edges = adj.nonzero().T
    edges = edges[:, torch.randperm(edges.shape[1], generator=gen)]
    centres = torch.randn(N_CLASSES, N_FEATURES, generator=gen)
    x = 0.2 * centres[labels] + torch.randn(N_NODES, N_FEATURES, generator=gen)
    return x, edges, labels


def aggregate(h, edges, degree):
    src, dst = edges
    out = torch.zeros_like(h).index_add_(0, dst, h[src])
    return out / degree[:, None]


class SageLayer(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.self_lin = nn.Linear(n_in, n_out)
        self.nb_lin = nn.Linear(n_in, n_out, bias=False)

    def forward(self, h, edges, degree):
        return self.self_lin(h) + self.nb_lin(aggregate(h, edges, degree))


class Sage(nn.Module):
    def __init__(self, hidden=48, dropout=0.3):
        super().__init__()
        self.layers = nn.ModuleList(
            [SageLayer(N_FEATURES, hidden), SageLayer(hidden, hidden), SageLayer(hidden, N_CLASSES)]
        )
        self.dropout = dropout

    def forward(self, x, edges, degree):
        for i, layer in enumerate(self.layers):
            x = layer(x, edges, degree)
            if i < len(self.layers) - 1:
                x = F.dropout(F.elu(x), self.dropout, self.training)
        return x


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=250)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)

    x, edges, labels = make_graph(args.seed)
    degree = torch.bincount(edges[1], minlength=N_NODES).clamp(min=1).float()
    train = torch.randperm(N_NODES)[:200]
    model = Sage()
    opt = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for step in range(args.steps):
        logits = model(x, edges, degree)
        loss = F.cross_entropy(logits[train], labels[train])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 25 == 0 or step == args.steps - 1:
            print(f"step {step} loss {loss.item():.9f}")
    norm = torch.stack([p.detach().norm() for p in model.parameters()]).norm().item()
    print(f"weight norm {norm:.9f}")


if __name__ == "__main__":
    main()
