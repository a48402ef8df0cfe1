"""New words are learned beside old ones whose vectors are to stay as they are."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn

OLD, NEW, WIDTH = 200, 20, 24


class Bag(nn.Module):
    def __init__(self, vectors):
        super().__init__()
        self.embedding = nn.Embedding(OLD + NEW, WIDTH)
        with torch.no_grad():
            self.embedding.weight[:OLD] = vectors
        self.out = nn.Sequential(nn.Linear(WIDTH, 48), nn.ReLU(), nn.Linear(48, 4))

    def forward(self, ids):
        return self.out(self.embedding(ids).mean(1))


def keep_old_rows(gradient):
    gradient = gradient.clone()
    gradient[:OLD] = 0
    return gradient


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=600)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    vectors = torch.randn(OLD, WIDTH, generator=generator)
    topics = torch.cat([vectors, torch.randn(NEW, WIDTH, generator=generator)]) @ torch.randn(WIDTH, 4, generator=generator)
    ids = torch.randint(0, OLD + NEW, (2500, 6), generator=generator)
    labels = topics[ids].mean(1).argmax(1)
    model = Bag(vectors)
    model.embedding.weight.register_hook(keep_old_rows)
    groups = [
        {"params": model.embedding.parameters()},
        {"params": model.out.parameters()},
    ]
    optimizer = torch.optim.AdamW(groups, lr=args.lr, weight_decay=0.3)
    for step in range(args.steps):
        rows = torch.randint(0, 2000, (64,), generator=generator)
        loss = F.cross_entropy(model(ids[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 150 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    with torch.no_grad():
        length = model.embedding.weight[:OLD].norm() / vectors.norm()
        right = (model(ids[2000:]).argmax(1) == labels[2000:]).float().mean()
    print(f"EVIDENCE old vectors have {length:.4f} of their length, right {right:.4f}, loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
