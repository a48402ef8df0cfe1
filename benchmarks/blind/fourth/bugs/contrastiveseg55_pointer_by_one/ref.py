"""Embeddings of pixels are contrasted with queues of earlier ones, one queue for each class."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=50)
args = parser.parse_args()
CLASSES, MEMORY, PER_STEP, WIDTH = 4, 60, 6, 16


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 24, 3, padding=1), nn.ReLU())
        self.classify, self.embed = nn.Conv2d(24, CLASSES, 1), nn.Conv2d(24, WIDTH, 1)
        self.register_buffer("queue", nn.functional.normalize(torch.randn(CLASSES, MEMORY, WIDTH), dim=2))
        self.register_buffer("pointer", torch.zeros(CLASSES, dtype=torch.long))

    def forward(self, x):
        x = self.body(x)
        return self.classify(x), nn.functional.normalize(self.embed(x), dim=1)

    @torch.no_grad()
    def enqueue(self, vectors, labels):
        for label in labels.unique().tolist():
            new = vectors[labels == label]
            new = new[torch.randperm(len(new))[:PER_STEP]]
            at = int(self.pointer[label])
            if at + len(new) >= MEMORY:
                self.queue[label, -len(new):] = new
                self.pointer[label] = 0
            else:
                self.queue[label, at:at + len(new)] = new
                self.pointer[label] = (at + len(new)) % MEMORY


def contrast(anchors, labels, queue, temperature=0.2):
    logits = anchors @ queue.flatten(0, 1).t() / temperature
    same = labels[:, None] == torch.arange(CLASSES).repeat_interleave(MEMORY)
    return -(logits.log_softmax(1) * same).sum(1).div(MEMORY).mean()


def scenes(n, colours, size=10):
    labels = torch.randint(CLASSES, (n, size // 2, size // 2)).repeat_interleave(2, 1).repeat_interleave(2, 2)
    return colours[labels].permute(0, 3, 1, 2) + torch.randn(n, 3, size, size), labels


torch.manual_seed(args.seed)
torch.set_num_threads(1)
colours = 1.5 * torch.randn(CLASSES, 3)
model = Segmenter()
start = model.queue.clone()
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
for step in range(args.steps):
    x, labels = scenes(8, colours)
    logits, vectors = model(x)
    loss = nn.functional.cross_entropy(logits, labels)
    vectors, flat = vectors.permute(0, 2, 3, 1).flatten(0, 2), labels.flatten()
    chosen = torch.randperm(len(flat))[:64]
    if step >= 5:
        loss = loss + 0.1 * contrast(vectors[chosen], flat[chosen], model.queue)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.enqueue(vectors.detach(), flat)
    if step % 10 == 9:
        print(f"step {step}: loss {loss.item():.3f}")
stale = (model.queue == start).all(2).sum().item()
spread = model.queue.var(1).mean().item()
print(f"EVIDENCE {stale} of {CLASSES * MEMORY} places still hold first values, spread {spread:.5f}, loss {loss.item():.4f}")

# SPDX-License-Identifier: Apache-2.0
