"""Several tags for each sample: logits with weights of the rare ones, a WeightedRandomSampler, an auxiliary absolute loss, gradients clipped by value."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

from options import options

TAGS = 5


def samples(n, directions):
    x = torch.randn(n, 16)
    score = x @ directions
    return TensorDataset(x, (score > torch.linspace(0.2, 2.2, TAGS)).float(), score[:, :1])


class Tagger(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(16, width), nn.LayerNorm(width), nn.ReLU(), nn.Dropout(0.1))
        self.tags, self.strength = nn.Linear(width, TAGS), nn.Linear(width, 1)

    def forward(self, x):
        x = self.body(x)
        return self.tags(x), self.strength(x)


def main():
    args = options(lr=5e-3, width=32, steps=60)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    directions = torch.randn(16, TAGS) / 4
    data, held_out = samples(480, directions), samples(160, directions)
    tags = data.tensors[1]
    rarity = 1 / (0.2 + tags.mean(dim=0))
    sampler = WeightedRandomSampler((tags * rarity).sum(dim=1) + 0.5, len(data))
    loader = DataLoader(data, batch_size=32, sampler=sampler)
    model = Tagger(args.width)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=args.lr)
    for epoch in range(max(1, args.steps // len(loader))):
        model.train()
        for x, wanted, strength in loader:
            logits, guess = model(x)
            loss = F.binary_cross_entropy_with_logits(logits, wanted, pos_weight=rarity) + 0.2 * F.l1_loss(guess, strength)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_value_(model.parameters(), 0.5)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            x, wanted, strength = held_out.tensors
            logits, guess = model(x)
            right = ((logits > 0).float() == wanted).float().mean()
            print(f"epoch {epoch}: loss {loss.item():.3f}, right {right.item():.3f}, off {F.l1_loss(guess, strength).item():.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
