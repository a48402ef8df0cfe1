"""A recogniser with CTC; letters last some frames each, doubles are common; the edit distance is measured."""

import argparse

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()
LETTERS, BLANK, FEATURES = 5, 0, 8


def utterances(count, voices):
    sounds, texts = [], []
    for _ in range(count):
        text = torch.randint(1, LETTERS + 1, (4,))
        text[2] = text[1] if torch.rand(1) < 0.7 else text[2]
        frames = [torch.cat([voices[letter].expand(int(torch.randint(2, 4, (1,))), -1), voices[:1]]) for letter in text]
        sounds.append(torch.cat(frames))
        texts.append(text)
    lengths = torch.tensor([len(s) for s in sounds])
    sounds = pad_sequence(sounds, batch_first=True)
    return sounds + 0.3 * torch.randn_like(sounds), lengths, torch.stack(texts)


class Recogniser(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.conv = nn.Conv1d(FEATURES, width, 3, padding=1)
        self.cell, self.head = nn.GRU(width, width, batch_first=True), nn.Linear(width, LETTERS + 1)

    def forward(self, sounds):
        h = torch.relu(self.conv(sounds.transpose(1, 2))).transpose(1, 2)
        return self.head(self.cell(h)[0]).log_softmax(-1)


def decode(log_probs, length):
    path = log_probs[:length].argmax(-1)
    path = torch.unique_consecutive(path)
    return path[path != BLANK].tolist()


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        left, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            left, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, left + (x != y))
    return row[-1]


torch.manual_seed(args.seed)
torch.set_num_threads(1)
voices = torch.randn(LETTERS + 1, FEATURES)
valid = utterances(80, voices)
model = Recogniser()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(1, args.steps + 1):
    sounds, lengths, texts = utterances(16, voices)
    loss = nn.functional.ctc_loss(model(sounds).transpose(0, 1), texts, lengths, torch.full((16,), 4), blank=BLANK)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        with torch.no_grad():
            found = [decode(row, length) for row, length in zip(model(valid[0]), valid[1])]
        errors = sum(distance(a, b) for a, b in zip(found, valid[2].tolist())) / valid[2].numel()
        print(f"step {step}: loss {loss.item():.4f}, letters in error {errors:.4f}")
print(f"EVIDENCE {errors:.4f} of the letters are in error, {sum(map(len, found)) / len(found):.4f} are found for four")

# SPDX-License-Identifier: Apache-2.0
