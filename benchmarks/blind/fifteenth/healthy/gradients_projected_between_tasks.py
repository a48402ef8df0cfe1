"""Shop visits: click, purchase and amount from a table, by a multi-gate mixture of experts with projected gradients."""
import argparse
import random

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import QuantileTransformer
from torch import nn


def visits(n, rng):
    numbers = np.exp(rng.normal(size=(n, 9)))
    shop, hour = rng.integers(0, 12, n), rng.integers(0, 24, n)
    latent = np.log(numbers)
    interest = latent[:, 0] + latent[:, 1] * latent[:, 2] + 0.5 * np.sin(hour / 24 * 6.28)
    click = (interest + rng.logistic(size=n) > 0.7).astype(np.float32)
    need = latent[:, 3] - latent[:, 0] + 0.2 * (shop % 3)
    bought = np.where(click == 1, need + rng.logistic(size=n) > 0.3, np.nan).astype(np.float32)
    bought[click == 0] = np.nan
    amount = np.where(bought == 1, 2 + latent[:, 4] + 0.5 * latent[:, 1] + 0.2 * rng.normal(size=n), np.nan)
    return numbers, np.stack([shop, hour], 1), np.stack([click, bought, amount], 1).astype(np.float32)


class MMoE(nn.Module):
    def __init__(self, n_numbers, experts=5, width=32, tasks=3):
        super().__init__()
        self.codes = nn.ModuleList([nn.Embedding(12, 4), nn.Embedding(24, 4)])
        d = n_numbers + 8
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(d, 48), nn.ReLU(), nn.Linear(48, width)) for _ in range(experts))
        self.gates = nn.ModuleList(nn.Linear(d, experts, bias=False) for _ in range(tasks))
        self.towers = nn.ModuleList(nn.Sequential(nn.ReLU(), nn.Linear(width, 16), nn.ReLU(), nn.Linear(16, 1)) for _ in range(tasks))

    def shared_parameters(self):
        return [*self.codes.parameters(), *self.experts.parameters()]

    def forward(self, numbers, codes):
        x = torch.cat([numbers, *(e(codes[:, i]) for i, e in enumerate(self.codes))], 1)
        views = torch.stack([e(x) for e in self.experts], 1)
        out = []
        for gate, tower in zip(self.gates, self.towers):
            weight = gate(x).softmax(-1).unsqueeze(-1)
            out.append(tower((weight * views).sum(1)).squeeze(-1))
        return out


def task_losses(answers, targets, paused):
    """A dictionary; tasks without a label in the batch or on pause are not in it."""
    losses = {}
    for t, answer in enumerate(answers):
        known = ~targets[:, t].isnan()
        if t in paused or not known.any():
            continue
        a, y = answer[known], targets[known, t]
        losses[t] = F.huber_loss(a, y) if t == 2 else F.binary_cross_entropy_with_logits(a, y)
    return losses


def project(gradients, order):
    """PCGrad: each gradient loses what points against another one."""
    originals = [g.clone() for g in gradients]
    conflicts = 0
    for i, g in enumerate(gradients):
        others = [j for j in range(len(gradients)) if j != i]
        order.shuffle(others)
        for j in others:
            dot = torch.dot(g, originals[j])
            if dot < 0:
                g -= dot / originals[j].pow(2).sum().clamp_min(1e-12) * originals[j]
                conflicts += 1
    return sum(gradients), conflicts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=350)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    order, rng = random.Random(args.seed), np.random.default_rng(args.seed)
    train, test = visits(6000, rng), visits(3000, rng)
    scale = QuantileTransformer(output_distribution="normal", n_quantiles=200, random_state=0).fit(train[0])
    pack = lambda part: (torch.tensor(scale.transform(part[0]), dtype=torch.float32), torch.tensor(part[1]), torch.tensor(part[2]))
    (x, c, y), (tx, tc, ty) = pack(train), pack(test)

    model = MMoE(x.shape[1])
    shared = model.shared_parameters()
    own = [[*g.parameters(), *t.parameters()] for g, t in zip(model.gates, model.towers)]
    optimizer = torch.optim.Adam([{"params": shared, "lr": args.lr}] + [{"params": q, "lr": args.lr * s} for q, s in zip(own, (1, 1, 2))])
    conflicts = 0
    for step in range(args.steps):
        size = order.choice([48, 96, 96, 128])
        rows = torch.randint(0, len(x), (size,))
        paused = {2} if step < args.steps // 6 else ({0} if step % 5 == 0 else set())
        losses = task_losses(model(x[rows], c[rows]), y[rows], paused)
        if not losses:
            continue
        optimizer.zero_grad(set_to_none=True)
        flat = []
        for t, loss in losses.items():
            grads = torch.autograd.grad(loss, shared + own[t], retain_graph=True)
            for q, g in zip(own[t], grads[len(shared):]):
                q.grad = g
            flat.append(torch.cat([g.reshape(-1) for g in grads[: len(shared)]]))
        joined, found = project(flat, order)
        conflicts += found
        for q, g in zip(shared, joined.split([q.numel() for q in shared])):
            q.grad = g.view_as(q)
        optimizer.step()
        if step % 70 == 0:
            print(step, {t: round(v.item(), 3) for t, v in losses.items()}, "conflicts", conflicts)

    model.eval()
    with torch.no_grad():
        click, bought, amount = model(tx, tc)
    k1, k2 = ~ty[:, 1].isnan(), ~ty[:, 2].isnan()
    print(f"EVIDENCE AUC of clicks {roc_auc_score(ty[:, 0], click):.3f} AUC of purchases {roc_auc_score(ty[k1, 1], bought[k1]):.3f} "
          f"error of amounts {(amount[k2] - ty[k2, 2]).abs().mean():.3f} conflicts {conflicts}")


if __name__ == "__main__":
    main()
