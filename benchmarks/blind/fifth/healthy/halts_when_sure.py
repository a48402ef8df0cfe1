"""A cell is applied as often as each sample needs: it learns when to halt, and pays for each application."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
BITS, WIDTH, MOST, PRICE = 8, 32, 8, 0.03


class Ponder(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(BITS + 1, WIDTH)
        self.halt, self.head = nn.Linear(WIDTH, 1), nn.Linear(WIDTH, 1)

    def forward(self, x):
        state = torch.zeros(len(x), WIDTH)
        spent, output, cost = torch.zeros(len(x)), torch.zeros(len(x)), torch.zeros(len(x))
        running = torch.ones(len(x), dtype=torch.bool)
        turn = 0
        while running.any() and turn < MOST:
            first = torch.full((len(x), 1), float(turn == 0))
            state = torch.where(running[:, None], self.cell(torch.cat([x, first], 1), state), state)
            wish = self.halt(state).sigmoid().squeeze(1)
            ends = running & ((spent + wish > 0.99) | (turn == MOST - 1))
            share = torch.where(ends, 1 - spent, wish) * running
            output = output + share * self.head(state).squeeze(1)
            cost = cost + running + torch.where(ends, 1 - spent, torch.zeros(()))
            spent = spent + share
            running = running & ~ends
            turn += 1
        return output, cost, turn


def batch(count):
    length = torch.randint(1, BITS + 1, (count,))
    x = torch.randint(0, 2, (count, BITS)).float() * 2 - 1
    x = x * (torch.arange(BITS) < length[:, None])
    return x, ((x == 1).sum(1) > (x == -1).sum(1)).float()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Ponder()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for step in range(args.steps):
    x, y = batch(32)
    output, cost, turns = model(x)
    answer = nn.functional.binary_cross_entropy_with_logits(output, y)
    loss = answer + PRICE * cost.mean()
    optimizer.zero_grad()
    loss.backward()
    if torch.rand(()) < 0.5:
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    else:
        nn.utils.clip_grad_value_(model.parameters(), 0.1)
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step}: loss {answer.item():.3f} after {turns} turns at most, cost {cost.mean().item():.2f}")

# SPDX-License-Identifier: Apache-2.0
