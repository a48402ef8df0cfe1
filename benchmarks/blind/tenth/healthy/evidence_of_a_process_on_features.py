"""A deep kernel: features from a network, a Gaussian process on them; the marginal likelihood of a subset is the loss."""
import argparse
import math

import torch
from sklearn.datasets import make_friedman2
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class DeepKernel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 32), nn.Softplus(), nn.Linear(32, 3))
        self.raw = nn.ParameterDict({name: nn.Parameter(torch.tensor(v)) for name, v in (("scale", 0.5), ("noise", -1.0), ("mean", 0.0))})

    def kernel(self, a, b):
        return nn.functional.softplus(self.raw["scale"]) * torch.exp(-0.5 * torch.cdist(self.net(a), self.net(b)).pow(2))

    def factor(self, x):
        noise = nn.functional.softplus(self.raw["noise"]) + 1e-4
        gram, eye = self.kernel(x, x), torch.eye(len(x))
        jitter = 0.0
        while True:
            root, failed = torch.linalg.cholesky_ex(gram + (noise + jitter) * eye)
            if not failed:
                return root
            jitter = max(1e-5, 10 * jitter)

    def negative_evidence(self, x, y):
        root, rest = self.factor(x), (y - self.raw["mean"])[:, None]
        fit = torch.cholesky_solve(rest, root)
        return (0.5 * rest.T @ fit).squeeze() + root.diagonal().log().sum() + 0.5 * len(x) * math.log(2 * math.pi)

    @torch.no_grad()
    def predict(self, x, y, new):
        root = self.factor(x)
        return self.raw["mean"] + self.kernel(new, x) @ torch.cholesky_solve((y - self.raw["mean"])[:, None], root).squeeze(1)


x, y = make_friedman2(700, noise=40.0, random_state=args.seed)
x, y = torch.tensor(x), torch.tensor(y)
x, y = ((x - x[:500].mean(0)) / x[:500].std(0)).float(), ((y - y[:500].mean()) / y[:500].std()).float()
model = DeepKernel()
net_optimizer = torch.optim.Adam(model.net.parameters(), lr=args.lr, weight_decay=1e-4)
raw_optimizer = torch.optim.Rprop(model.raw.parameters(), lr=args.lr)
full = args.steps * 3 // 4
for step in range(1, args.steps + 1):
    # subsets first, all of the data in the last quarter, where only the few numbers of the kernel learn
    rows = torch.randperm(500)[:int(torch.randint(60, 140, ()))] if step <= full else torch.arange(0, 500, 2)
    loss = model.negative_evidence(x[rows], y[rows])
    model.zero_grad()
    loss.backward()
    if step <= full:
        net_optimizer.step()
        if step % 10 == 0:
            with torch.no_grad():
                for p in model.raw.parameters():
                    p -= args.lr * p.grad.sign()
    else:
        raw_optimizer.step()
    if step % 20 == 0:
        error = (model.predict(x[:500], y[:500], x[500:]) - y[500:]).pow(2).mean().item()
        print(f"step {step}: negative evidence {loss.item() / len(rows):.4f} per point, error {error:.4f}")

# SPDX-License-Identifier: Apache-2.0
