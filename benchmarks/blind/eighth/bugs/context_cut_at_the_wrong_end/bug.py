"""Small language model of repeated motifs; now and then it writes a text that is longer than its window."""

import argparse

import torch
from torch import nn
from torch.nn import functional as F

WINDOW, WORDS = 16, 12


class MotifModel(nn.Module):
    def __init__(self, width=40, heads=4, layers=2):
        super().__init__()
        self.token, self.place = nn.Embedding(WORDS, width), nn.Embedding(WINDOW, width)
        layer = nn.TransformerEncoderLayer(width, heads, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, WORDS)

    def forward(self, words):
        mask = nn.Transformer.generate_square_subsequent_mask(words.shape[1])
        x = self.token(words) + self.place(torch.arange(words.shape[1]))
        return self.head(self.layers(x, mask=mask, is_causal=True))

    @torch.no_grad()
    def generate(self, words, new):
        for _ in range(new):
            context = words[:, :WINDOW]
            logits = self(context)[:, -1]
            words = torch.cat([words, logits.argmax(-1, keepdim=True)], dim=1)
        return words


def texts(size, length):
    """Three words are drawn and said again and again."""
    motif = torch.rand(size, WORDS).argsort(1)[:, :3]
    return motif.repeat(1, length // 3 + 1)[:, :length]


def evaluate(model):
    model.eval()
    truth = texts(60, 36)
    written = model.generate(truth[:, :8], 28)
    model.train()
    return (written == truth)[:, 8:WINDOW].float().mean().item(), (written == truth)[:, WINDOW + 4:].float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    model = MotifModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(1, args.steps + 1):
        words = texts(48, WINDOW + 1)
        loss = F.cross_entropy(model(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step}: loss {loss.item():.4f}, right within and beyond the window {evaluate(model)}")
    within, beyond = evaluate(model)
    print(f"EVIDENCE words that are right: {within:.4f} within the window, {beyond:.4f} beyond it")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
