"""CNN on the 8x8 digits with random affine augmentation, random erasing and early stopping on the validation loss."""
import argparse
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=4e-3)
parser.add_argument("--steps", type=int, default=16, help="max. number of epochs")
parser.add_argument("--patience", type=int, default=3)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

X, y = load_digits(return_X_y=True)
X = torch.tensor(X, dtype=torch.float32).view(-1, 1, 8, 8) / 16.0
y = torch.tensor(y)
idx_train, idx_rest = train_test_split(range(len(y)), test_size=0.4, stratify=y.numpy(), random_state=args.seed)
idx_val, idx_test = train_test_split(idx_rest, test_size=0.5, stratify=y[idx_rest].numpy(), random_state=args.seed)
train_loader = DataLoader(TensorDataset(X[idx_train], y[idx_train]), batch_size=64, shuffle=True)
val_loader = DataLoader(TensorDataset(X[idx_val], y[idx_val]), batch_size=256)
test_loader = DataLoader(TensorDataset(X[idx_test], y[idx_test]), batch_size=256)


def augment(x):
    n = x.size(0)
    angle = (torch.rand(n) - 0.5) * 2 * math.radians(12)
    scale = 1 + (torch.rand(n) - 0.5) * 0.2
    shift = (torch.rand(n, 2) - 0.5) * 0.4
    cos, sin = angle.cos() * scale, angle.sin() * scale
    theta = torch.stack([torch.stack([cos, -sin, shift[:, 0]], 1), torch.stack([sin, cos, shift[:, 1]], 1)], 1)
    x = F.grid_sample(x, F.affine_grid(theta, list(x.shape), align_corners=False), align_corners=False)
    if torch.rand(()) < 0.25:
        r, c = torch.randint(0, 6, (2,)).tolist()
        x[:, :, r:r + 2, c:c + 2] = 0
    return x


model = nn.Sequential(
    nn.Conv2d(1, 12, 3, padding=1, bias=False), nn.BatchNorm2d(12), nn.ReLU(),
    nn.Conv2d(12, 24, 3, padding=1, bias=False), nn.BatchNorm2d(24), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(24, 24, 3, padding=1, bias=False), nn.BatchNorm2d(24), nn.ReLU(),
    nn.Flatten(), nn.Dropout(0.3), nn.Linear(24 * 16, 10))
opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-2)


@torch.no_grad()
def evaluate(loader):
    model.eval()
    loss, correct, count = 0.0, 0, 0
    for xb, yb in loader:
        logits = model(xb)
        loss += F.cross_entropy(logits, yb, reduction="sum").item()
        correct += (logits.argmax(1) == yb).sum().item()
        count += len(yb)
    return loss / count, correct / count


best_loss, best_state, bad_epochs = float("inf"), None, 0
for epoch in range(args.steps):
    model.train()
    running = 0.0
    for xb, yb in train_loader:
        if torch.rand(()) < 0.8:
            xb = augment(xb)
        opt.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        opt.step()
        running += loss.item() * len(yb)
    val_loss, val_acc = evaluate(val_loader)
    print(f"epoch {epoch:2d}  train {running / len(idx_train):.4f}  val {val_loss:.4f}  acc {val_acc:.3f}")
    if val_loss < best_loss - 1e-3:
        best_loss, best_state, bad_epochs = val_loss, copy.deepcopy(model.state_dict()), 0
    else:
        bad_epochs += 1
        if bad_epochs >= args.patience:
            print("early stop")
            break

model.load_state_dict(best_state)
print("test loss %.4f acc %.3f" % evaluate(test_loader))
# SPDX-License-Identifier: Apache-2.0
