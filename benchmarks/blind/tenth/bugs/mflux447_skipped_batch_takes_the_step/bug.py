"""Tagging with accumulation over four micro-batches; micro-batches without any tag to learn are passed over."""
import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--steps", type=int, default=480, help="micro-batches")
parser.add_argument("--window", type=int, default=4)
args = parser.parse_args()
WORDS, TAGS = 60, 5


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, 24)
        self.rnn = nn.GRU(24, 24, batch_first=True, bidirectional=True)
        self.out = nn.Linear(48, TAGS)

    def forward(self, words):
        return self.out(self.rnn(self.embed(words))[0])


class Stream:
    """Sentences; annotators have left out whole sentences, whose tags are -100."""

    def __init__(self):
        self.kind = torch.randint(TAGS, (WORDS,))

    def batch(self, count=3, annotated=0.35):
        words = torch.randint(WORDS, (count, int(torch.randint(6, 12, ()))))
        before = words.roll(1, 1)
        tags = (self.kind[words] + (self.kind[before] == 0).long()) % TAGS
        tags[:, 0] = self.kind[words[:, 0]]
        tags[torch.rand(count) > annotated] = -100
        return words, tags


torch.manual_seed(args.seed)
torch.set_num_threads(1)
stream, model = Stream(), Tagger()
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
updates = pending = 0
sizes = []
for index in range(args.steps):
    words, tags = stream.batch()
    if (tags == -100).all():
        continue
    logits = model(words)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), tags.flatten(), ignore_index=-100)
    (loss / args.window).backward()
    pending += 1
    if (index + 1) % args.window == 0:
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        optimizer.zero_grad()
        updates += 1
        sizes.append(pending)
        pending = 0
        if updates % 20 == 0:
            print(f"micro-batch {index + 1}: loss {loss.item():.4f}, updates {updates}")

model.eval()
with torch.no_grad():
    words, tags = stream.batch(300, annotated=1.0)
    right = (model(words).argmax(-1) == tags).float().mean().item()
print(f"EVIDENCE updates {updates}, most micro-batches in a window {max(sizes)}, right {right:.4f}")

# SPDX-License-Identifier: Apache-2.0
