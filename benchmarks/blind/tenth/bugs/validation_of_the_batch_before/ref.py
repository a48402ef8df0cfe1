"""Handwritten digits with a validation after each epoch; the best weights are kept and tested."""
import argparse
import copy

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.03)
parser.add_argument("--steps", type=int, default=220)
args = parser.parse_args()

torch.manual_seed(args.seed)
torch.set_num_threads(1)
digits = load_digits()
data = TensorDataset(torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16, torch.tensor(digits.target))
train_set, val_set, test_set = random_split(data, [1157, 320, 320])
train_loader = DataLoader(train_set, batch_size=64, shuffle=True, drop_last=True)
val_loader = DataLoader(val_set, batch_size=64)
test_loader = DataLoader(test_set, batch_size=64)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 16, 3, padding=1)
        self.drop = nn.Dropout(0.3)
        self.fc1 = nn.Linear(16 * 16, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.conv(x)), 2).flatten(1)
        return self.fc2(self.drop(torch.relu(self.fc1(x))))


model = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="max", factor=0.5, patience=2)
best_acc, best_model, step, epoch = -1.0, None, 0, 0
while step < args.steps:
    model.train()
    epoch += 1
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        step += 1
        if step == args.steps:
            break

    model.eval()
    correct, val_loss = 0, 0.0
    with torch.no_grad():
        for xv, yv in val_loader:
            logits = model(xv)
            val_loss += criterion(logits, yv).item() * len(yv)
            correct += (logits.argmax(1) == yv).sum().item()
    val_acc = correct / len(val_set)
    scheduler.step(val_acc)
    if val_acc > best_acc:
        best_acc, best_model = val_acc, copy.deepcopy(model)
    if epoch % 3 == 0:
        print(f"epoch {epoch}: loss {loss.item():.4f}, validation {val_loss / len(val_set):.4f}, accuracy {val_acc:.4f}")

correct = 0
best_model.eval()
with torch.no_grad():
    for xt, yt in test_loader:
        correct += (best_model(xt).argmax(1) == yt).sum().item()
rate = optimizer.param_groups[0]["lr"]
print(f"EVIDENCE best validation {best_acc:.4f}, test {correct / len(test_set):.4f}, rate at the end {rate:.6f}")

# SPDX-License-Identifier: Apache-2.0
