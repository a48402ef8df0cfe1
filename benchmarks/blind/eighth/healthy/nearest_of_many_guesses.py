"""Several guesses for an ambiguous answer: only the best one of each sample learns, a scorer learns which it will be."""

import argparse

import torch
from torch import nn
from torch.nn import functional as F


class Guesses(nn.Module):
    def __init__(self, guesses=6, width=48):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.heads = nn.ModuleList(nn.Linear(width, 2) for _ in range(guesses))
        self.scorer = nn.Linear(width, guesses)

    def forward(self, x):
        hidden = self.trunk(x)
        return torch.stack([head(hidden) for head in self.heads], 1), self.scorer(hidden.detach())


def draw(size, turns):
    """Each input has three right answers, one of which is seen."""
    x = torch.rand(size, 3) * 2 - 1
    way = torch.randint(3, (size,))
    angle = turns[way] + x[:, 0]
    return x, torch.stack([angle.cos(), angle.sin()], 1) * (1.5 + 0.3 * x[:, 1:2])


def step_on(model, optimizer, x, y, relaxed):
    guesses, scores = model(x)
    error = (guesses - y[:, None]).pow(2).sum(-1)
    best = error.argmin(1)
    loss = error.gather(1, best[:, None]).mean() + F.cross_entropy(scores, best)
    if relaxed:  # early on, heads that are never the best get a little of the gradient
        loss = loss + 0.05 * error.mean()
    optimizer.zero_grad()
    loss.backward()
    idle = [i for i in range(guesses.shape[1]) if not (best == i).any()]
    for i in idle:
        if not relaxed:
            model.heads[i].zero_grad(set_to_none=True)  # no step by momentum for who won nothing
    optimizer.step()
    return loss.item(), len(idle)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    turns = torch.tensor([0.0, 2.1, 4.2])
    model = Guesses()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    valid, idle = draw(500, turns), 0
    for step in range(1, args.steps + 1):
        loss, none = step_on(model, optimizer, *draw(12 if step % 5 == 0 else 48, turns), relaxed=step <= args.steps // 3)
        idle += none
        if step % 60 == 0:
            with torch.no_grad():
                guesses, scores = model(valid[0])
                error = (guesses - valid[1][:, None]).pow(2).sum(-1)
            print(f"step {step}: loss {loss:.4f}, nearest {error.min(1).values.mean():.4f}, "
                  f"likeliest {error.gather(1, scores.argmax(1, keepdim=True)).mean():.4f}, idle heads so far {idle}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
