"""A highway network: gates by a sigmoid, BCE with logits and a weight of the rare class, then a second model of the same for three classes by
`nll_loss`, Adagrad and a plateau."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from options import options

FEATURES = 10


class Highway(nn.Module):
    def __init__(self, width, depth, outputs):
        super().__init__()
        self.first, self.last = nn.Linear(FEATURES, width), nn.Linear(width, outputs)
        self.changes = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.gates = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        for gate in self.gates:
            nn.init.constant_(gate.bias, -1.0)

    def forward(self, x):
        x = torch.tanh(self.first(x))
        for change, gate in zip(self.changes, self.gates):
            share = torch.sigmoid(gate(x))
            x = share * F.relu(change(x)) + (1 - share) * x
        return self.last(x)


def train(model, loss_of, data, held_out, lr, steps, generator):
    optimizer = torch.optim.Adagrad(model.parameters(), lr=lr)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    step, (x, y) = 0, data
    while step < steps:
        model.train()
        for rows in torch.randperm(len(x), generator=generator).split(40):
            optimizer.zero_grad()
            loss = loss_of(model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
            step += 1
            if step == steps:
                break
        model.eval()
        with torch.no_grad():
            error = loss_of(model(held_out[0]), held_out[1]).item()
        plateau.step(error)
        print(f"step {step}: loss {loss.item():.3f}, held out {error:.3f}")


def main():
    args = options(lr=2e-2, width=24, steps=60)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(args.seed + 1)
    x = torch.randn(800, FEATURES, generator=generator)
    score = x[:, 0] * x[:, 1] + x[:, 2] + 0.3 * torch.randn(800, generator=generator)
    rare, third = (score > 1.2).float(), (score > -0.5).long() + (score > 0.7).long()
    weight = (len(rare) - rare.sum()) / rare.sum()
    train(Highway(args.width, 3, 1), lambda s, y: F.binary_cross_entropy_with_logits(s[:, 0], y, pos_weight=weight),
          (x[:640], rare[:640]), (x[640:], rare[640:]), args.lr, args.steps, generator)
    train(Highway(args.width, 2, 3), lambda s, y: F.nll_loss(F.log_softmax(s, dim=-1), y),
          (x[:640], third[:640]), (x[640:], third[640:]), args.lr, args.steps, generator)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
