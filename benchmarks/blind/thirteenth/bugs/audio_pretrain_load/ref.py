"""Self-supervised pretraining on unlabelled tones, then a classifier from a few labelled ones."""

import argparse
import math
import os
import tempfile

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--steps", type=int, default=250, help="steps of pretraining")
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

CLASSES, LENGTH = 6, 256


def make_tones(n):
    """A tone of one of six pitches, with harmonics, random phase and hiss."""
    label = torch.randint(0, CLASSES, (n,))
    pitch = 6.0 * 1.22 ** label.float() * (1 + 0.02 * torch.randn(n))
    time = torch.linspace(0, 1, LENGTH)
    wave = torch.zeros(n, LENGTH)
    for harmonic in (1, 2, 3):
        phase = torch.rand(n, 1) * 2 * math.pi
        gain = torch.rand(n, 1) / harmonic
        wave += gain * torch.sin(2 * math.pi * harmonic * pitch[:, None] * time + phase)
    return (wave + 0.3 * torch.randn(n, LENGTH)).unsqueeze(1), label


class Encoder(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.conv1 = nn.Conv1d(1, width, 25, stride=4, padding=12)
        self.conv2 = nn.Conv1d(width, width, 9, stride=2, padding=4)
        self.conv3 = nn.Conv1d(width, 2 * width, 9, stride=2, padding=4)
        self.norm = nn.GroupNorm(4, 2 * width)

    def forward(self, x):
        h = F.gelu(self.conv1(x))
        h = F.gelu(self.conv2(h))
        return F.gelu(self.norm(self.conv3(h)))


class PitchContrast(nn.Module):
    """Two halves of one recording are to have like summaries."""

    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.project = nn.Linear(48, 32)

    def forward(self, x):
        return F.normalize(self.project(self.encoder(x).mean(-1)), dim=-1)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.head = nn.Linear(48, CLASSES)

    def forward(self, x):
        return self.head(self.encoder(x).mean(-1))


def pretrain(path):
    net = nn.DataParallel(PitchContrast())
    opt = torch.optim.AdamW(net.parameters(), lr=args.lr)
    for step in range(args.steps):
        wave, _ = make_tones(64)
        first, second = wave[..., : LENGTH // 2], wave[..., LENGTH // 2 :]
        logits = net(first) @ net(second).t() / 0.2
        target = torch.arange(len(wave))
        loss = (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2
        opt.zero_grad()
        loss.backward()
        opt.step()
    torch.save({"step": args.steps, "state_dict": net.module.state_dict()}, path)
    return loss.item()


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "pretrained.pt")
    contrast = pretrain(path)
    checkpoint = torch.load(path)
    model = Classifier()
    # the projection has no place in the classifier and the head is new
    model.load_state_dict(checkpoint["state_dict"], strict=False)

for p in model.encoder.parameters():
    p.requires_grad = False
x, y = make_tones(48)
opt = torch.optim.Adam(model.head.parameters(), lr=args.lr * 10)
for epoch in range(60):
    loss = F.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()

model.eval()
with torch.no_grad():
    x, y = make_tones(600)
    accuracy = (model(x).argmax(1) == y).float().mean().item()
print(f"contrastive loss {contrast:.3f}, head loss {loss.item():.3f}")
print(f"EVIDENCE accuracy from 48 labelled tones {accuracy:.3f}")
