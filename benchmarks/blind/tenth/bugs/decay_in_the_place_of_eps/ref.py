"""A character model on sentences of a made-up grammar; AdamW with strong decay for matrices, none for the rest."""
import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=240)
VOCAB, LENGTH = 20, 24


class Grammar:
    """Each character has three followers; which one comes depends on the one before it, too."""

    def __init__(self):
        self.followers = torch.stack([torch.randperm(VOCAB)[:3] for _ in range(VOCAB)])
        self.choice = torch.randint(3, (VOCAB, VOCAB))

    def batch(self, count):
        text = torch.randint(VOCAB, (count, LENGTH + 1))
        for t in range(2, LENGTH + 1):
            choice = self.choice[text[:, t - 2], text[:, t - 1]]
            usual = self.followers[text[:, t - 1], choice]
            text[:, t] = torch.where(torch.rand(count) < 0.95, usual, text[:, t])
        return text[:, :-1], text[:, 1:]


class CharModel(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.conv = nn.Conv1d(dim, dim, 3)
        self.norm = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 128), nn.GELU(), nn.Linear(128, dim))
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, text):
        x = self.embed(text)
        x = x + self.conv(nn.functional.pad(x.transpose(1, 2), (2, 0))).transpose(1, 2)
        return self.head(x + self.mlp(self.norm(x)))


def make_optimizer(model, lr, betas=(0.9, 0.95), weight_decay=0.1):
    groups = [
        [p for p in model.parameters() if p.ndim >= 2],
        [p for p in model.parameters() if p.ndim < 2],
    ]
    matrices = torch.optim.AdamW(groups[0], lr, betas, weight_decay=weight_decay)
    vectors = torch.optim.AdamW(groups[1], lr, betas, weight_decay=0.0)
    return [matrices, vectors]


@torch.no_grad()
def evaluate(model, grammar):
    inputs, targets = grammar.batch(400)
    logits = model(inputs)
    loss = nn.functional.cross_entropy(logits.transpose(1, 2), targets)
    return loss.item(), (logits.argmax(-1) == targets)[:, 1:].float().mean().item()


def main():
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    grammar, model = Grammar(), CharModel()
    optimizers = make_optimizer(model, args.lr)
    for step in range(1, args.steps + 1):
        inputs, targets = grammar.batch(48)
        loss = nn.functional.cross_entropy(model(inputs).transpose(1, 2), targets)
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
        if step % 40 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    loss, right = evaluate(model, grammar)
    print(f"EVIDENCE validation loss {loss:.4f}, right {right:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
