"""An encoder is pretrained to fill in words and then fine-tuned to tell classes."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=24)
args = parser.parse_args()
VOCAB, MASK = 24, 0


class Encoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed, self.position = nn.Embedding(VOCAB, dim), nn.Parameter(torch.randn(12, dim) * 0.02)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(dim, 2, 64, 0.1, batch_first=True) for _ in range(2))

    def forward(self, tokens):
        x = self.embed(tokens) + self.position
        for layer in self.layers:
            x = layer(x)
        return x


def sentences(n=16):
    label = torch.randint(1, 4, (n,))
    return 1 + (torch.randint(0, 23, (n, 1)) + label[:, None] * torch.arange(12)) % 23, label - 1


def pretrain(encoder, steps):
    head = nn.Linear(32, VOCAB)
    optimizer = torch.optim.AdamW([*encoder.parameters(), *head.parameters()], lr=args.lr)
    for _ in range(steps):
        tokens, _ = sentences()
        hidden = torch.rand(tokens.shape) < 0.2
        hidden[:, 0] = True
        logits = head(encoder(tokens.masked_fill(hidden, MASK)))
        loss = F.cross_entropy(logits[hidden], tokens[hidden])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def fine_tune(encoder, steps):
    classifier = nn.Sequential(nn.Dropout(0.1), nn.Linear(32, 3))
    groups = [{"params": [encoder.position, *encoder.embed.parameters()], "lr": args.lr * 0.25},
              {"params": encoder.layers[0].parameters(), "lr": args.lr * 0.5}, {"params": encoder.layers[1].parameters()},
              {"params": classifier.parameters(), "lr": args.lr * 2}]
    optimizer = torch.optim.AdamW(groups, lr=args.lr, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, [g["lr"] for g in groups[:2]] + [args.lr, args.lr * 2],
                                                    total_steps=steps)
    for _ in range(steps):
        tokens, label = sentences()
        loss = F.cross_entropy(classifier(encoder(tokens).mean(1)), label)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_([*encoder.parameters(), *classifier.parameters()], 1.0)
        optimizer.step()
        scheduler.step()
    return loss.item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
encoder = Encoder()
first = pretrain(encoder, args.steps // 2)
second = fine_tune(encoder, args.steps // 2)
print(f"losses {first:.3f} and {second:.3f}")

# SPDX-License-Identifier: Apache-2.0
