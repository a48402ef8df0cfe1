"""A temperature falls during training, hard samples with soft gradients."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
encode, decode = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3 * 5)), nn.Linear(15, 8)
optimizer = torch.optim.Adam([*encode.parameters(), *decode.parameters()], lr=args.lr)
kinds = torch.randn(5, 8)
for step in range(args.steps):
    temperature = max(0.3, 2.0 * 0.97**step)
    x = kinds[torch.randint(0, 5, (48,))] + 0.1 * torch.randn(48, 8)
    logits = encode(x).view(48, 3, 5)
    code = nn.functional.gumbel_softmax(logits, tau=temperature, hard=step % 2 == 1, dim=-1)
    prior = (logits.softmax(-1) * (logits.log_softmax(-1) + torch.log(torch.tensor(5.0)))).sum((1, 2)).mean()
    loss = nn.functional.mse_loss(decode(code.flatten(1)), x) + 0.01 * prior
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
