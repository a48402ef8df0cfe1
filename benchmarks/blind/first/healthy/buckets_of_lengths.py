"""Batches by length, packed for the LSTM."""

import argparse

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
class Parity(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.lstm, self.out = nn.Embedding(3, 8), nn.LSTM(8, 24, batch_first=True), nn.Linear(24, 2)

    def forward(self, ids, lengths):
        packed = pack_padded_sequence(self.embed(ids), lengths, batch_first=True, enforce_sorted=False)
        return self.out(self.lstm(packed)[1][0][-1])


texts = sorted([torch.randint(1, 3, (int(n),)) for n in torch.randint(2, 20, (640,))], key=len)
buckets = [texts[i : i + 16] for i in range(0, 640, 16)]
model = Parity()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for step in range(args.steps):
    bucket = buckets[int(torch.randint(len(buckets), ()))]
    lengths = torch.tensor([len(t) for t in bucket])
    target = torch.stack([(t == 2).sum() > len(t) // 2 for t in bucket]).long()
    loss = nn.functional.cross_entropy(model(pad_sequence(bucket, batch_first=True), lengths), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
