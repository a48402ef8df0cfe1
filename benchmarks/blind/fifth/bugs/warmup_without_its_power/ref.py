"""A transformer encoder is trained with a rate that rises linearly and falls with the root of the step."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=1.0)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()
WIDTH, WARMUP, WORDS, LENGTH = 32, 40, 16, 10


def rate(step):
    step = max(step, 1)
    return 0.1 * WIDTH ** -0.5 * min(step ** -0.5, step * WARMUP ** -1.5)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(WIDTH, 2)

    def forward(self, words):
        return self.head(self.encoder(self.embed(words) + self.place.weight))


def batch(count):
    words = torch.randint(WORDS, (count, LENGTH))
    before = words.roll(1, 1)
    label = (words > before).long()
    label[:, 0] = 0
    return words, label


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, betas=(0.9, 0.98), eps=1e-9)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
rates = []
for step in range(args.steps):
    words, label = batch(32)
    loss = nn.functional.cross_entropy(model(words).flatten(0, 1), label.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    rates.append(scheduler.get_last_lr()[0])
    scheduler.step()
    if step % 30 == 29:
        print(f"step {step}: loss {loss.item():.4f}, rate {rates[-1]:.5f}")
print(f"EVIDENCE the first rate is {rates[0]:.5f}, the greatest {max(rates):.5f} in step {rates.index(max(rates))}")

# SPDX-License-Identifier: Apache-2.0
