"""accelerate prepares two models and optimizers; one is stepped every second time."""

import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=5)
args = parser.parse_args()
set_seed(args.seed)
torch.set_num_threads(1)
accelerator = Accelerator(cpu=True)
x = torch.randn(256, 10)
policy = nn.Sequential(nn.Linear(10, 24), nn.Tanh(), nn.Linear(24, 4))
model = nn.Sequential(nn.Linear(14, 24), nn.ReLU(), nn.Linear(24, 10))
optimizers = [torch.optim.Adam(m.parameters(), lr=args.lr) for m in (policy, model)]
loader = DataLoader(TensorDataset(x), batch_size=32, shuffle=True)
policy, model, loader, *optimizers = accelerator.prepare(policy, model, loader, *optimizers)
count = 0
for epoch in range(args.steps):
    for (state,) in loader:
        action = torch.tanh(policy(state))
        guess = model(torch.cat([state, action.detach()], 1))
        loss = nn.functional.mse_loss(guess, state.roll(1, 1) + action.detach().mean(1, keepdim=True))
        optimizers[1].zero_grad()
        accelerator.backward(loss)
        optimizers[1].step()
        count += 1
        if count % 2 == 0:
            reward = -model(torch.cat([state, action], 1)).pow(2).mean()
            optimizers[0].zero_grad()
            accelerator.backward(-reward)
            accelerator.clip_grad_norm_(policy.parameters(), 1.0)
            optimizers[0].step()
print(f"loss {loss.item():.4f}")

# SPDX-License-Identifier: Apache-2.0
