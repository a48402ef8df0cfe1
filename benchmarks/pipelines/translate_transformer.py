"""An encoder and decoder of `nn.Transformer`: cross attention over a source of another length, greedy decoding, NAdam."""

import math

import torch
import torch.nn as nn

from options import options

BEGIN, DIGITS = 0, 10
SOURCE, TARGET = 8, 5


def batch(n, generator):
    """Digits, and the smallest of them in order."""
    source = torch.randint(1, 1 + DIGITS, (n, SOURCE), generator=generator)
    return source, source.sort(1).values[:, :TARGET]


class Translator(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed = nn.Embedding(1 + DIGITS, width)
        self.transformer = nn.Transformer(
            width, 4, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=2 * width, dropout=0.1, batch_first=True
        )
        self.out = nn.Linear(width, 1 + DIGITS)
        position = torch.arange(SOURCE)[:, None] * torch.exp(torch.arange(0, width, 2) * (-math.log(100.0) / width))
        self.register_buffer("position", torch.stack([position.sin(), position.cos()], -1).flatten(1))

    def forward(self, source, target):
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        x = self.embed(source) + self.position[: source.shape[1]]
        y = self.embed(target) + self.position[: target.shape[1]]
        return self.out(self.transformer(x, y, tgt_mask=mask, tgt_is_causal=True))


@torch.no_grad()
def decode(model, source):
    model.eval()
    target = torch.full((len(source), 1), BEGIN)
    for _ in range(TARGET):
        target = torch.cat([target, model(source, target)[:, -1:].argmax(-1)], 1)
    return target[:, 1:]


def main():
    args = options(lr=4e-3, width=32, steps=60)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(args.seed)
    model = Translator(args.width)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    optimizer = torch.optim.NAdam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.2, args.steps)
    test = batch(100, torch.Generator().manual_seed(1000))
    for step in range(args.steps):
        model.train()
        source, target = batch(32, generator)
        begun = torch.cat([torch.full((len(target), 1), BEGIN), target[:, :-1]], 1)
        optimizer.zero_grad()
        loss = criterion(model(source, begun).flatten(0, 1), target.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        if (step + 1) % 20 == 0:
            right = (decode(model, test[0]) == test[1]).float().mean().item()
            print(f"step {step + 1}: loss {loss.item():.3f}, digits in place {right:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
