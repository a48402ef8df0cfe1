"""A graph network on one graph: edges are dropped by chance in training, few nodes have labels, training ends by patience."""
import argparse
import copy

import torch
from torch import nn


def make_graph(classes=4, nodes=320):
    """Nodes of one class are joined more often; features say little."""
    y = torch.randint(classes, (nodes,))
    chance = torch.where(y[:, None] == y[None], 0.04, 0.006)
    edges = torch.triu(torch.rand(nodes, nodes) < chance, 1).nonzero().t()
    x = torch.randn(nodes, 16)
    x[:, :classes] += 0.8 * nn.functional.one_hot(y, classes)
    return x, y, torch.cat([edges, edges.flip(0)], 1)


class GCNLayer(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x, edges):
        nodes = torch.arange(len(x))
        source, target = torch.cat([edges, torch.stack([nodes, nodes])], 1)
        degree = torch.bincount(target, minlength=len(x)).float()
        weight = (degree[source] * degree[target]).rsqrt()
        h = self.linear(x)
        return torch.zeros_like(h).index_add(0, target, weight[:, None] * h[source])


class GCN(nn.Module):
    def __init__(self, inputs, classes, width=32, drop_edges=0.3):
        super().__init__()
        self.first, self.second = GCNLayer(inputs, width), GCNLayer(width, classes)
        self.drop, self.drop_edges = nn.Dropout(0.5), drop_edges

    def forward(self, x, edges):
        if self.training:
            edges = edges[:, torch.rand(edges.shape[1]) > self.drop_edges]
        return self.second(self.drop(torch.relu(self.first(self.drop(x), edges))), edges)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, y, edges = make_graph()
    order = torch.randperm(len(y))
    train, valid, test = order[:60], order[60:160], order[160:]
    model = GCN(x.shape[1], 4)
    optimizer = torch.optim.Adam([{"params": model.first.parameters(), "weight_decay": 5e-3}, {"params": model.second.parameters()}], lr=args.lr)
    best, best_state, waited = float("inf"), None, 0
    for step in range(1, args.steps + 1):
        model.train()
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x, edges)[train], y[train])
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            logits = model(x, edges)
            error = nn.functional.cross_entropy(logits[valid], y[valid]).item()
        if error < best:
            best, best_state, waited = error, copy.deepcopy(model.state_dict()), 0
        else:
            waited += 1
            if waited > 40 and step > 60:
                print(f"stopped at step {step}")
                break
        if step % 30 == 0:
            print(f"step {step}: loss {loss.item():.4f}, valid {error:.4f}, right {(logits[valid].argmax(1) == y[valid]).float().mean().item():.3f}")
    model.load_state_dict(best_state)
    with torch.no_grad():
        print(f"test {(model(x, edges)[test].argmax(1) == y[test]).float().mean().item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
