"""The prefix of a row are some words; the rest says them again. Places are counted anew after the prefix."""

import argparse

import torch
from torch import nn
from torch.nn import functional as F

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.003), ("--steps", int, 140)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()
WORDS, MOST = 10, 6


class PrefixModel(nn.Module):
    def __init__(self, width=48, heads=4):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS + 1, width), nn.Embedding(2 * MOST + 1, width)
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(width, heads, 96, 0.0, batch_first=True, norm_first=True)
                                    for _ in range(2))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, WORDS)

    def forward(self, ids, prefix):
        length = ids.shape[1]
        place = torch.arange(length)
        visible = (place[None] <= place[:, None]) | (place[None] < prefix)
        x = self.words(ids) + self.places(torch.where(place < prefix - 1, place, place - prefix + 1))
        for block in self.blocks:
            x = block(x, src_mask=~visible)
        return self.head(self.norm(x))


def rows(count, prefix):
    words = torch.stack([torch.randperm(WORDS)[:prefix] for _ in range(count)])
    return torch.cat([words, torch.full((count, 1), WORDS), words], dim=1)


def loss_of(model, ids, prefix):
    logits = model(ids[:, :-1], prefix + 1)
    target = ids[:, 1:].clone()
    target[:, :prefix] = -100
    return F.cross_entropy(logits.transpose(1, 2), target, ignore_index=-100), logits.argmax(-1), target


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = PrefixModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.98))
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min((step + 1) / 15, 1.0))
for step in range(1, args.steps + 1):
    prefix = int(torch.randint(3, MOST + 1, ()))
    loss, _, _ = loss_of(model, rows(32, prefix), prefix)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    if step % 35 == 0:
        model.eval()
        with torch.no_grad():
            value, guess, target = loss_of(model, rows(100, 5), 5)
        right = (guess == target)[target != -100].float().mean().item()
        model.train()
        print(f"step {step}: loss {loss.item():.4f}, validation {value.item():.4f}, right {right:.3f}")

# SPDX-License-Identifier: Apache-2.0
