"""A small recogniser of spelled words is trained with CTC on synthetic frames; greedy decoding in the end."""

import argparse

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()
ALPHABET, BANDS, BLANK = "abcdefgh", 12, 0


def encode(text):
    return torch.tensor([ALPHABET.index(letter) for letter in text])


def decode(path):
    letters = []
    for now, before in zip(path, [BLANK] + path[:-1]):
        if now != BLANK and now != before:
            letters.append(now)
    return letters


class Recogniser(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.conv = nn.Conv1d(BANDS, width, 3, padding=1)
        self.rnn = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * width, len(ALPHABET) + 1)

    def forward(self, frames):
        hidden = self.conv(frames.transpose(1, 2)).relu().transpose(1, 2)
        return self.head(self.rnn(hidden)[0]).log_softmax(-1)


def batch(size):
    frames, targets = [], []
    for _ in range(size):
        text = "".join(ALPHABET[i] for i in torch.randint(len(ALPHABET), (int(torch.randint(3, 7, ())),)).tolist())
        pieces = []
        for letter in text:
            pieces.append(sounds[ALPHABET.index(letter)].expand(int(torch.randint(2, 4, ())), -1))
            pieces.append(torch.zeros(1, BANDS))
        frames.append(torch.cat(pieces) + 0.2 * torch.randn(sum(map(len, pieces)), BANDS))
        targets.append(encode(text))
    lengths = torch.tensor([len(f) for f in frames])
    sizes = torch.tensor([len(t) for t in targets])
    return pad_sequence(frames, batch_first=True), lengths, torch.cat(targets), sizes


torch.manual_seed(args.seed)
torch.set_num_threads(1)
sounds = torch.randn(len(ALPHABET), BANDS)
model = Recogniser()
criterion = nn.CTCLoss(blank=BLANK)
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for step in range(args.steps):
    frames, lengths, targets, sizes = batch(16)
    logp = model(frames)
    loss = criterion(logp.transpose(0, 1), targets, lengths, sizes)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step}: loss {loss.item():.3f}")
model.eval()
with torch.no_grad():
    frames, lengths, targets, sizes = batch(100)
    paths = model(frames).argmax(-1)
right = 0
for path, length, word in zip(paths.tolist(), lengths.tolist(), targets.split(sizes.tolist())):
    right += decode(path[:length]) == word.tolist()
print(f"EVIDENCE {right} of 100 words are recognised")

# SPDX-License-Identifier: Apache-2.0
