"""A head is put on a pretrained backbone and initialised."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


def backbone():
    return nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 20), nn.ReLU())


def initialise(module):
    if isinstance(module, nn.Linear):
        nn.init.kaiming_normal_(module.weight)
        nn.init.zeros_(module.bias)


teacher = nn.Sequential(backbone(), nn.Linear(20, 10))
optimizer = torch.optim.Adam(teacher.parameters(), lr=3e-3)
for _ in range(60):
    x = torch.randn(64, 10)
    optimizer.zero_grad()
    nn.functional.mse_loss(teacher(x), x).backward()
    optimizer.step()
pretrained = {name: value.clone() for name, value in teacher[0].state_dict().items()}


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone, self.head = backbone(), nn.Linear(20, 2)
        self.backbone.load_state_dict(pretrained)
        self.head.apply(initialise)

    def forward(self, x):
        return self.head(self.backbone(x))


model = Classifier()
apart = (model.backbone[0].weight - pretrained["0.weight"]).abs().mean().item()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for step in range(args.steps):
    x = torch.randn(64, 10)
    loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"EVIDENCE training starts {apart:.4f} from the pretrained weights, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
