"""A written-out Function for the loss of a ranking head; it is one of two losses, with a weight of its own."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()
WEIGHT, ITEMS = 0.05, 6


class ListLoss(torch.autograd.Function):
    """Cross entropy of the order: the gradient is made together with the value."""

    @staticmethod
    def forward(ctx, scores, relevance):
        wanted, given = relevance.softmax(-1), scores.log_softmax(-1)
        ctx.save_for_backward((given.exp() - wanted) / len(scores))
        return -(wanted * given).sum(-1).mean()

    @staticmethod
    def backward(ctx, gradient):
        ready, = ctx.saved_tensors
        return ready, None


class Ranker(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.score, self.price = nn.Linear(width, 1), nn.Linear(width, 1)

    def forward(self, items):
        hidden = self.trunk(items)
        return self.score(hidden).squeeze(-1), self.price(hidden).squeeze(-1)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
likes, worth = torch.randn(8), torch.randn(8)
model = Ranker()
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
for step in range(args.steps):
    items = torch.randn(32, ITEMS, 8)
    scores, prices = model(items)
    order = ListLoss.apply(scores, items @ likes)
    error = nn.functional.mse_loss(prices, torch.tanh(items @ worth))
    loss = WEIGHT * order + error
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step}: order {order.item():.4f}, error {error.item():.4f}")
probe = torch.randn(4, ITEMS, requires_grad=True)
part, = torch.autograd.grad(WEIGHT * ListLoss.apply(probe, torch.zeros(4, ITEMS)), probe)
whole, = torch.autograd.grad(ListLoss.apply(probe, torch.zeros(4, ITEMS)), probe)
print(f"EVIDENCE the weighted loss has {(part.norm() / whole.norm()).item():.3f} of the gradient; error {error.item():.4f}")

# SPDX-License-Identifier: Apache-2.0
