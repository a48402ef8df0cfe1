"""Direct preference optimisation of a small recurrent model; answers have unequal lengths."""

import argparse
import copy

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()
WORDS, LENGTH = 12, 10


class Model(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed, self.cell = nn.Embedding(WORDS, width), nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, WORDS)

    def forward(self, ids):
        return self.head(self.cell(self.embed(ids))[0])


def log_probability(model, ids, mask):
    each = model(ids[:, :-1]).log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2)
    return (each * mask).sum(1)


def answers(count, good):
    """Good answers rise, others are any; nought is the start and the padding."""
    length = torch.randint(3, LENGTH, (count, 1))
    ids = torch.randint(1, WORDS, (count, LENGTH))
    ids = ids.sort(1).values if good else ids
    mask = torch.arange(LENGTH)[None] < length
    return torch.cat([torch.zeros(count, 1, dtype=torch.long), ids * mask], dim=1), mask.float()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
policy = Model()
optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
for step in range(60):
    ids, mask = answers(32, good=step % 2 == 0)
    loss = -(log_probability(policy, ids, mask) / mask.sum(1)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"pretrained: loss {loss.item():.4f}")
reference = copy.deepcopy(policy).requires_grad_(False).eval()
optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
for step in range(1, args.steps + 1):
    chosen, chosen_mask = answers(32, good=True)
    rejected, rejected_mask = answers(32, good=False)
    margins = []
    for model in (policy, reference):
        first = log_probability(model, chosen, chosen_mask)
        second = log_probability(model, rejected, chosen_mask)
        margins.append(first - second)
    loss = -nn.functional.logsigmoid(0.2 * (margins[0] - margins[1])).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
good, bad = answers(300, True), answers(300, False)
with torch.no_grad():
    values = [(log_probability(policy, *part) / part[1].sum(1)).mean().item() for part in (good, bad)]
print(f"EVIDENCE a word of a good answer has log-probability {values[0]:.4f}, one of another {values[1]:.4f}")

# SPDX-License-Identifier: Apache-2.0
