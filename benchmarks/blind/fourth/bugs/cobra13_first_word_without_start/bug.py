"""Captions for pictures: patches stand after the sign of the start, the caption's words are learned."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=4e-3)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
COLOURS = ["red", "green", "blue", "black"]
THINGS = ["cat", "dog", "car", "tree", "house"]
IGNORE, PATCHES, WIDTH = -100, 4, 32


class Tokenizer:
    def __init__(self, words):
        self.ids = {w: i for i, w in enumerate(["<s>", "</s>", *words])}

    def __call__(self, text, add_bos=False):
        ids = [self.ids[w] for w in text.split()] + [self.ids["</s>"]]
        return torch.tensor([self.ids["<s>"], *ids] if add_bos else ids)


tokenizer = Tokenizer([*COLOURS, *THINGS, "and"])


def example(pictures):
    """A picture, the caption's words and their labels; the start is not learned."""
    first, second = torch.randint(len(COLOURS), (1,)).item(), torch.randint(len(THINGS), (1,)).item()
    text = f"{COLOURS[first]} {THINGS[second]} and {THINGS[second]}"
    ids = tokenizer(text)
    labels = ids.clone()
    labels[0] = IGNORE
    patches = (pictures[0][first] + pictures[1][second]).repeat(PATCHES, 1) + 0.3 * torch.randn(PATCHES, 16)
    return patches, ids, labels


class Captioner(nn.Module):
    def __init__(self):
        super().__init__()
        self.project, self.embed = nn.Linear(16, WIDTH), nn.Embedding(len(tokenizer.ids), WIDTH)
        self.rnn, self.head = nn.GRU(WIDTH, WIDTH, batch_first=True), nn.Linear(WIDTH, len(tokenizer.ids))

    def forward(self, patches, ids, labels):
        words = self.embed(ids)
        x = torch.cat([words[:, :1], self.project(patches), words[:, 1:]], 1)
        labels = torch.cat([labels[:, :1], torch.full(patches.shape[:2], IGNORE), labels[:, 1:]], 1)
        logits = self.head(self.rnn(x)[0])
        return nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=IGNORE)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
pictures = torch.randn(len(COLOURS), 16), torch.randn(len(THINGS), 16)
model = Captioner()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
learned = torch.zeros(len(tokenizer.ids), dtype=torch.long)
for step in range(args.steps):
    patches, ids, labels = (torch.stack(part) for part in zip(*(example(pictures) for _ in range(32))))
    loss = model(patches, ids, labels)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    learned += labels[labels != IGNORE].bincount(minlength=len(learned))
    if step % 20 == 19:
        print(f"step {step}: loss {loss.item():.3f}")
colours = learned[[tokenizer.ids[c] for c in COLOURS]].sum().item()
print(f"EVIDENCE colours were labels {colours} times, last loss {loss.item():.4f}")

# SPDX-License-Identifier: Apache-2.0
