"""Bytes in, classes out: a convolutional network under autocast."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.003), ("--steps", int, 100)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()
CLASSES = 4


class Bytes(Dataset):
    def __init__(self, count):
        self.labels = torch.randint(CLASSES, (count,))
        colours = torch.tensor([[200, 60, 60], [60, 200, 60], [60, 60, 200], [170, 170, 40]])
        noise = torch.randint(-60, 60, (count, 3, 10, 10))
        self.pictures = (colours[self.labels][:, :, None, None] + noise).clamp(0, 255).to(torch.uint8)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        label = torch.zeros(CLASSES, dtype=torch.uint8)
        label[self.labels[index]] = 1
        picture = self.pictures[index]
        return (picture.flip(2) if torch.rand(()) < 0.5 else picture), label


class Normalise(nn.Module):
    def __init__(self, pictures):
        super().__init__()
        values = pictures.float()
        self.register_buffer("mean", values.mean((0, 2, 3))[:, None, None])
        self.register_buffer("deviation", values.std((0, 2, 3))[:, None, None])

    def forward(self, x):
        return (x.float() - self.mean) / self.deviation


torch.manual_seed(args.seed)
torch.set_num_threads(1)
data, held_out = Bytes(640), Bytes(160)
model = nn.Sequential(Normalise(data.pictures), nn.Conv2d(3, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.SiLU(),
                      nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                      nn.Linear(32, CLASSES)).to(memory_format=torch.channels_last)
optimizer = torch.optim.RAdam(model.parameters(), lr=args.lr)
train = DataLoader(data, batch_size=32, shuffle=True)
step = 0
while step < args.steps:
    model.train()
    for pictures, labels in train:
        pictures = pictures.contiguous(memory_format=torch.channels_last)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(pictures)
        loss = -(logits.float().log_softmax(1) * labels).sum(1).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        step += 1
    model.eval()
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        right = sum((model(p).argmax(1) == y.argmax(1)).sum().item() for p, y in DataLoader(held_out, batch_size=80))
    print(f"step {step}: loss {loss.item():.4f}, right {right / len(held_out):.3f}")

# SPDX-License-Identifier: Apache-2.0
