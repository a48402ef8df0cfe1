"""Skip-gram with negative samples: both tables are sparse and trained by SparseAdam; most rows have no gradient in a step."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=150)
args = parser.parse_args()
WORDS, WIDTH, NEGATIVES, TOPICS, BATCH = 400, 16, 5, 10, 64


class SkipGram(nn.Module):
    def __init__(self):
        super().__init__()
        self.centre = nn.Embedding(WORDS, WIDTH, sparse=True)
        self.context = nn.Embedding(WORDS, WIDTH, sparse=True)
        nn.init.uniform_(self.centre.weight, -0.5 / WIDTH, 0.5 / WIDTH)
        nn.init.zeros_(self.context.weight)

    def forward(self, word, near, negative):
        own = self.centre(word)
        good = (own * self.context(near)).sum(-1)
        bad = (self.context(negative) @ own.unsqueeze(-1)).squeeze(-1)
        return -(nn.functional.logsigmoid(good) + nn.functional.logsigmoid(-bad).sum(-1)).mean()


def pairs(count):
    topic = torch.randint(TOPICS, (count,))
    rank = torch.multinomial(frequency[:WORDS // TOPICS], 2 * count, replacement=True).view(2, count)
    return topic + TOPICS * rank[0], topic + TOPICS * rank[1]


torch.manual_seed(args.seed)
torch.set_num_threads(1)
frequency = 1 / torch.arange(1, WORDS + 1).float()
seen = torch.zeros(WORDS)
model = SkipGram()
optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=args.lr)
for step in range(args.steps):
    word, near = pairs(BATCH)
    seen.index_add_(0, near, torch.ones(BATCH))
    noise = (seen + 1e-3) ** 0.75
    negative = torch.multinomial(noise, BATCH * NEGATIVES, replacement=True).view(BATCH, NEGATIVES)
    loss = model(word, near, negative)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        rows = model.centre.weight.grad.coalesce().indices().shape[1]
        print(f"step {step}: loss {loss.item():.4f}, {rows} rows of {WORDS} in the gradient")

# SPDX-License-Identifier: Apache-2.0
