"""First the head learns on features that a frozen trunk computed once; then both are trained with the inputs."""

import argparse
import pathlib
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()


def trunk():
    return nn.Sequential(nn.Conv1d(2, 12, 5, stride=2), nn.BatchNorm1d(12), nn.ReLU(), nn.Conv1d(12, 16, 3), nn.ReLU(),
                         nn.AdaptiveAvgPool1d(2), nn.Flatten())


@torch.inference_mode()
def features_of(model, x, file):
    """Kept on disk; what is there is not computed again."""
    if not file.exists():
        was = model.training
        model.eval()
        torch.save(torch.cat([model(part) for part in x.split(64)]), file)
        model.train(was)
    return torch.load(file).clone()


def fit(model, optimizer, loader, steps, say):
    step = 0
    while step < steps:
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step == steps:
                break
    print(f"{say}: loss {loss.item():.4f}")


torch.manual_seed(args.seed)
torch.set_num_threads(1)
kinds = torch.randn(4, 2, 30)
y = torch.randint(4, (320,))
x = kinds[y] + 0.8 * torch.randn(320, 2, 30)
body, head = trunk(), nn.Linear(32, 4)
with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder) / "features.pt"
    for number in range(2):
        features = features_of(body, x, file)
        loader = DataLoader(TensorDataset(features, y), batch_size=64, shuffle=True)
        fit(head, torch.optim.Adam(head.parameters(), lr=args.lr), loader, args.steps // 2, f"head, part {number}")
model = nn.Sequential(body, head)
groups = [{"params": body.parameters(), "lr": args.lr / 4}, {"params": head.parameters()}]
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True, drop_last=True)
fit(model, torch.optim.AdamW(groups, lr=args.lr), loader, args.steps, "all")
model.eval()
with torch.no_grad():
    print(f"{(model(x).argmax(1) == y).float().mean():.3f} are right")

# SPDX-License-Identifier: Apache-2.0
