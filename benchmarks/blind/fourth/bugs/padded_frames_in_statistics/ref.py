"""Utterances of many lengths are normalised by the mean and deviation of their frames, then classified."""

import argparse

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=48)
args = parser.parse_args()
MELS, SPEAKERS = 12, 5


def utterances(n, voices):
    data = []
    for label in torch.randint(SPEAKERS, (n,)).tolist():
        frames = torch.randint(8, 48, (1,)).item()
        channel = 3 * torch.randn(1, MELS) + 2
        wave = torch.sin(torch.arange(frames)[:, None] * (0.1 + voices[label]))
        data.append((wave + channel + 0.5 * torch.randn(frames, MELS), label))
    return data


def collate(batch):
    frames, labels = zip(*batch)
    lengths = torch.tensor([len(f) for f in frames])
    return pad_sequence(frames, batch_first=True), lengths, torch.tensor(labels)


class Normalise(nn.Module):
    def forward(self, x, lengths):
        mask = (torch.arange(x.size(1)) < lengths[:, None])[..., None].float()
        count = mask.sum(1, keepdim=True)
        mean = (x * mask).sum(1, keepdim=True) / count
        deviation = (((x - mean) * mask).pow(2).sum(1, keepdim=True) / count).sqrt()
        return (x - mean) / (deviation + 1e-5) * mask


class Classifier(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.normalise = Normalise()
        self.rnn = nn.GRU(MELS, width, batch_first=True)
        self.out = nn.Linear(width, SPEAKERS)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(self.normalise(x, lengths), lengths, batch_first=True, enforce_sorted=False)
        return self.out(self.rnn(packed)[1][-1])


torch.manual_seed(args.seed)
torch.set_num_threads(1)
voices = torch.rand(SPEAKERS, MELS)
train_loader = DataLoader(utterances(256, voices), batch_size=16, shuffle=True, collate_fn=collate)
val_loader = DataLoader(utterances(96, voices), batch_size=32, collate_fn=collate)
model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for epoch in range(args.steps // len(train_loader)):
    model.train()
    for x, lengths, y in train_loader:
        loss = nn.functional.cross_entropy(model(x, lengths), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(x, lengths).argmax(1) == y).sum().item() for x, lengths, y in val_loader)
        deviation = torch.stack([f.std(0).mean() for x, n, _ in val_loader for f in
                                 (model.normalise(x, n)[i, :n[i]] for i in range(len(n)))]).mean()
    print(f"epoch {epoch}: loss {loss.item():.3f}, {right / 96:.3f} right")
print(f"EVIDENCE frames' deviation after normalising {deviation:.3f}, last loss {loss.item():.4f}")

# SPDX-License-Identifier: Apache-2.0
