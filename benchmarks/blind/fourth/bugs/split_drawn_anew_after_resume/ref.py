"""Training is cut into two runs of one script; the second goes on from what the first has saved."""

import argparse
import os
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=64)
args = parser.parse_args()


def measurements(generator, n=320):
    x = torch.randn(n, 24, generator=generator)
    y = (x[:, :3].sum(1) + 1.5 * torch.randn(n, generator=generator) > 0).long()
    return TensorDataset(x, y)


def split(data):
    parts = random_split(data, [0.8, 0.2], generator=torch.Generator().manual_seed(args.seed))
    return DataLoader(parts[0], batch_size=16, shuffle=True), DataLoader(parts[1], batch_size=64)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    losses = [nn.functional.cross_entropy(model(x), y).item() for x, y in loader]
    model.train()
    return sum(losses) / len(losses)


def run(data, path, epochs):
    """One run of the script: it resumes if there is something to resume from."""
    train_loader, val_loader = split(data)
    model = nn.Sequential(nn.Linear(24, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    first = 0
    if os.path.exists(path):
        state = torch.load(path)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["rng"])
        first = state["epoch"]
    for epoch in range(first, first + epochs):
        for x, y in train_loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}, validation {evaluate(model, val_loader):.4f}")
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "rng": torch.get_rng_state(),
                "epoch": first + epochs}, path)
    return set(val_loader.dataset.indices), evaluate(model, val_loader)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
data = measurements(torch.Generator().manual_seed(args.seed))
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "last.pt")
    before, _ = run(data, path, args.steps // 32)
    after, loss = run(data, path, args.steps // 32)
print(f"EVIDENCE {len(after - before)} of {len(after)} validation samples were trained on before, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
