"""A classifier is trained under autocast with bfloat16; the validation sums what is right over the batches."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
CLASSES, EVERY = 4, 20


class Validation:
    """Numbers that are summed over batches without leaving the device."""

    def __init__(self, like):
        self.right = torch.zeros((), dtype=torch.float32)
        self.count = 0

    def add(self, logits, label):
        self.right += (logits.argmax(1) == label).sum()
        self.count += len(label)

    def share(self):
        return self.right.item() / self.count


def validate(model, loader):
    model.eval()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        for number, (x, label) in enumerate(loader):
            logits = model(x)
            if number == 0:
                result = Validation(logits)
            result.add(logits, label)
    model.train()
    return result.share()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
centres = torch.randn(CLASSES, 10)
label = torch.randint(CLASSES, (2400,))
x = centres[label] + 0.7 * torch.randn(2400, 10)
train = DataLoader(TensorDataset(x[:480], label[:480]), batch_size=32, shuffle=True)
valid = DataLoader(TensorDataset(x[480:], label[480:]), batch_size=16)
model = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, CLASSES))
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
step = 0
while step < args.steps:
    for inputs, target in train:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(inputs)
            loss = nn.functional.cross_entropy(logits, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % EVERY == 0:
            share = validate(model, valid)
            print(f"step {step}: loss {loss.item():.3f}, right {share:.3f}")
        if step == args.steps:
            break
with torch.no_grad():
    exact = (model.eval()(x[480:]).argmax(1) == label[480:]).double().mean().item()
print(f"EVIDENCE {share:.3f} are right in the last validation, {exact:.3f} counted at once")

# SPDX-License-Identifier: Apache-2.0
