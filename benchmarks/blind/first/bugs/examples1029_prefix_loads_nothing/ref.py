"""Fine-tuning an encoder that was trained inside of a larger model."""

import argparse
import io

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class Wrapper(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU())
        self.decode = nn.Linear(24, 12)

    def forward(self, x):
        return self.decode(self.model(x))


def pretrain():
    wrapper, file = Wrapper(), io.BytesIO()
    optimizer = torch.optim.Adam(wrapper.parameters(), lr=3e-3)
    for _ in range(60):
        x = torch.randn(64, 3) @ torch.ones(3, 12) + 0.1 * torch.randn(64, 12)
        optimizer.zero_grad()
        nn.functional.mse_loss(wrapper(x), x).backward()
        optimizer.step()
    torch.save(wrapper.state_dict(), file)
    file.seek(0)
    return wrapper, torch.load(file)


wrapper, weights = pretrain()
encoder = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU())
weights = {name.removeprefix("model."): value for name, value in weights.items()}
encoder.load_state_dict(weights, strict=False)
x = torch.randn(32, 12)
apart = (encoder(x) - wrapper.model(x)).abs().mean().item()
head = nn.Linear(24, 2)
optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=args.lr)
for step in range(args.steps):
    x = torch.randn(64, 12)
    loss = nn.functional.cross_entropy(head(encoder(x)), (x.sum(1) > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"EVIDENCE loaded and pretrained encoder differ by {apart:.4f}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
