"""A language model in the manner of AWD-LSTM: random chunk lengths, dropped recurrent weights, activations regularised."""

import argparse
import random

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=2.0)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class RNN(nn.Module):
    def __init__(self, vocab=20, dim=24):
        super().__init__()
        self.embed, self.head = nn.Embedding(vocab, dim), nn.Linear(dim, vocab)
        self.input, self.recurrent = nn.Linear(dim, dim), nn.Parameter(torch.randn(dim, dim) / dim ** 0.5)
        nn.init.uniform_(self.embed.weight, -0.1, 0.1)
        self.head.weight = self.embed.weight

    def forward(self, x, h):
        weight = nn.functional.dropout(self.recurrent, 0.2, self.training)
        outputs = []
        for e in self.input(self.embed(x)):
            h = torch.tanh(e + h @ weight)
            outputs.append(h)
        raw = torch.stack(outputs)
        dropped = nn.functional.dropout(raw, 0.2, self.training)
        return self.head(dropped), h, raw, dropped


def repackage(h):
    return h.detach()


random.seed(args.seed)
torch.manual_seed(args.seed)
torch.set_num_threads(1)
text = (torch.arange(4000) + torch.arange(4000) // 7) % 20
text[torch.rand(4000) < 0.05] = 3
data = text[:8 * (4000 // 8)].view(8, -1).t().contiguous()
model = RNN()
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, weight_decay=1e-6)
hidden, i, total = torch.zeros(8, 24), 0, 0.0
for step in range(args.steps):
    bptt = 10 if random.random() < 0.9 else 5
    length = max(3, int(random.gauss(bptt, 2)))
    if i + length >= len(data) - 1:
        i, hidden = 0, torch.zeros(8, 24)
    rate = optimizer.param_groups[0]["lr"]
    optimizer.param_groups[0]["lr"] = rate * length / 10
    hidden = repackage(hidden)
    optimizer.zero_grad()
    output, hidden, raw, dropped = model(data[i:i + length], hidden)
    raw_loss = nn.functional.cross_entropy(output.flatten(0, 1), data[i + 1:i + 1 + length].flatten())
    loss = raw_loss + 2 * dropped.pow(2).mean()
    loss = loss + (raw[1:] - raw[:-1]).pow(2).mean()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    optimizer.step()
    optimizer.param_groups[0]["lr"] = rate
    total += raw_loss.item()
    i += length
print(f"loss {total / args.steps:.3f}")

# SPDX-License-Identifier: Apache-2.0
