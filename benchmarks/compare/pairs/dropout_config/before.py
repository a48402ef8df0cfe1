"""Transformer that tells whether a row of brackets is well formed."""
import argparse
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class TrainConfig:
    length: int = 16
    dim: int = 32
    heads: int = 4
    layers: int = 2
    dropout: float = 0.1
    batch_size: int = 32
    lr: float = 2e-3
    warmup: int = 20


def make_brackets(n, length, generator):
    """Half of the rows are well formed; the others have one bracket turned."""
    rows = torch.zeros(n, length, dtype=torch.long)
    for i in range(n):
        depth = 0
        for j in range(length):
            left = length - j
            if depth == 0:
                opening = True
            elif depth == left:
                opening = False
            else:
                opening = torch.rand((), generator=generator).item() < 0.5
            rows[i, j] = 1 if opening else 0
            depth += 1 if opening else -1
    labels = torch.randint(0, 2, (n,), generator=generator)
    spot = torch.randint(0, length, (n,), generator=generator)
    for i in range(n):
        if labels[i] == 0:
            rows[i, spot[i]] = 1 - rows[i, spot[i]]
    return rows, labels


class BracketClassifier(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.token = nn.Embedding(2, config.dim)
        self.position = nn.Parameter(0.1 * torch.randn(config.length, config.dim))
        layer = nn.TransformerEncoderLayer(
            config.dim, config.heads, 4 * config.dim, dropout=config.dropout,
            batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, config.layers, enable_nested_tensor=False)
        self.head = nn.Linear(config.dim, 2)

    def forward(self, rows):
        h = self.encoder(self.token(rows) + self.position)
        return self.head(h.mean(1))


def lr_factor(step, config):
    return min(1.0, (step + 1) / config.warmup)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=150)
    args = parser.parse_args()
    config = TrainConfig()

    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    rows, labels = make_brackets(600, config.length, generator)
    model = BracketClassifier(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.lr)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: lr_factor(s, config))

    model.train()
    for step in range(args.steps):
        chosen = torch.randint(0, 500, (config.batch_size,), generator=generator)
        loss = F.cross_entropy(model(rows[chosen]), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 15 == 0 or step == args.steps - 1:
            print(f"step {step} loss {loss.item():.6f}")

    model.eval()
    with torch.no_grad():
        accuracy = (model(rows[500:]).argmax(1) == labels[500:]).float().mean().item()
    print(f"accuracy {accuracy:.4f}")
    print(f"weight sum {sum(p.double().sum().item() for p in model.parameters()):.10f}")


if __name__ == "__main__":
    main()
