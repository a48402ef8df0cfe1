"""Training writes a checkpoint, a second part of the script loads it into a new model and goes on with a smaller rate."""
import argparse
import os
import tempfile

import torch
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=200)


class Net(nn.Module):
    def __init__(self, inputs=30, width=48):
        super().__init__()
        self.bn_in = nn.BatchNorm1d(inputs)
        self.fc1 = nn.Linear(inputs, width)
        self.bn1 = nn.BatchNorm1d(width)
        self.fc2 = nn.Linear(width, 2)

    def forward(self, x):
        x = self.bn_in(x)
        return self.fc2(torch.relu(self.bn1(self.fc1(x))))


def save(path, model, optimizer, step):
    weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
    torch.save({"model": weights, "optimizer": optimizer.state_dict(), "step": step}, path)


def load(path, model, optimizer):
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["model"], strict=False)  # heads may differ
    optimizer.load_state_dict(checkpoint["optimizer"])
    return checkpoint["step"]


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    logits = model(x)
    loss, right = nn.functional.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()
    model.train()
    return loss, right


def train(model, optimizer, loader, start, end):
    step = start
    while step < end:
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 40 == 0:
                print(f"step {step}: loss {loss.item():.4f}")
            if step == end:
                break
    return step


def main():
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, y = load_breast_cancer(return_X_y=True)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    x1, x2, y1, y2 = train_test_split(x, y, test_size=0.3, random_state=args.seed)
    loader = DataLoader(TensorDataset(x1, y1), batch_size=32, shuffle=True, drop_last=True)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    split = int(args.steps * 0.9)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "last.pt")
        step = train(model, optimizer, loader, 0, split)
        before = evaluate(model, x2, y2)
        save(path, model, optimizer, step)
        del model, optimizer

        model = Net()
        optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
        step = load(path, model, optimizer)
    after = evaluate(model, x2, y2)
    print(f"resumed at step {step}: right {after[1]:.4f}")
    for group in optimizer.param_groups:
        group["lr"] = args.lr / 10
    train(model, optimizer, loader, step, args.steps)
    end = evaluate(model, x2, y2)
    print(f"EVIDENCE right before the cut {before[1]:.4f}, after it {after[1]:.4f}, at the end {end[1]:.4f}, loss {end[0]:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
