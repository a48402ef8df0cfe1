"""L-BFGS with a closure on the diabetes data."""

import torch
from sklearn.datasets import load_diabetes
from torch import nn

from options import options

args = options(lr=0.3, width=12, steps=20)
torch.manual_seed(args.seed)
torch.set_num_threads(1)
data = load_diabetes()
x = torch.tensor(data.data * 20, dtype=torch.float64)
y = torch.tensor((data.target - data.target.mean()) / data.target.std()).unsqueeze(1)
x_train, y_train, x_test, y_test = x[:350], y[:350], x[350:], y[350:]

seq = nn.Sequential(nn.Linear(10, args.width), nn.Tanh(), nn.Linear(args.width, 1)).double()
criterion = nn.MSELoss()
optimizer = torch.optim.LBFGS(seq.parameters(), lr=args.lr, max_iter=4, history_size=8)

for step in range(args.steps):

    def closure():
        optimizer.zero_grad()
        penalty = sum(p.square().sum() for p in seq.parameters())
        loss = criterion(seq(x_train), y_train) + 1e-3 * penalty
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    if step % 5 == 4:
        with torch.no_grad():
            test_loss = criterion(seq(x_test), y_test)
        print(f"step {step + 1}: loss {loss.item():.4f}, test {test_loss.item():.4f}")

# SPDX-License-Identifier: Apache-2.0
