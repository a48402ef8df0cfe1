"""Two towers for queries and documents, a learned temperature, negatives from the batch."""

import torch
import torch.nn.functional as F
from torch import nn

from options import options


class Tower(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed, self.out = nn.EmbeddingBag(200, width), nn.Linear(width, 16)

    def forward(self, words):
        return F.normalize(self.out(F.gelu(self.embed(words))), dim=-1)


class Towers(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query, self.document = Tower(width), Tower(width)
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, queries, documents):
        return self.query(queries) @ self.document(documents).T * self.scale.exp()


def main():
    args = options(lr=5e-3, width=32, steps=60)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    model = Towers(args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    topics = torch.randint(0, 200, (20, 12))
    for step in range(args.steps):
        rows = torch.randperm(20)[:16]
        queries, documents = (topics[rows].gather(1, torch.randint(0, 12, (16, n))) for n in (3, 8))
        scores = model(queries, documents)
        loss = F.cross_entropy(scores, torch.arange(16))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 20 == 19:
            print(f"step {step + 1}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
