"""Masked words of sentences of unlike length are guessed by a small encoder."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn

PAD, MASK, WORDS, LENGTH = 0, 1, 40, 24


class Encoder(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.words = nn.Embedding(WORDS, width, padding_idx=PAD)
        self.places = nn.Embedding(LENGTH, width)
        layer = nn.TransformerEncoderLayer(width, 4, 96, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(width, WORDS)

    def forward(self, ids, padding):
        h = self.words(ids) + self.places.weight
        return self.out(self.layers(h, src_key_padding_mask=padding))


def make_sentences(count, generator):
    start = torch.randint(0, 38, (count, 1), generator=generator)
    stride = torch.randint(1, 4, (count, 1), generator=generator)
    ids = (start + stride * torch.arange(LENGTH)) % 38 + 2
    lengths = torch.randint(4, LENGTH - 2, (count, 1), generator=generator)
    return torch.where(torch.arange(LENGTH) < lengths, ids, PAD)


def hide_words(ids, generator, share=0.2):
    chosen = torch.rand(ids.shape, generator=generator) < share
    labels = torch.where(chosen, ids, -100)
    return ids.masked_fill(chosen, MASK), labels


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=160)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    data = make_sentences(1600, generator)
    model = Encoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        ids = data[torch.randint(0, 1400, (32,), generator=generator)]
        inputs, labels = hide_words(ids, generator)
        logits = model(inputs, ids == PAD)
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        ids = data[1400:]
        inputs, labels = hide_words(ids, generator)
        right = model(inputs, ids == PAD).argmax(2) == ids
        asked = labels != -100
        words = asked & (ids != PAD)
    print(f"EVIDENCE {(ids[asked] == PAD).float().mean():.4f} of what is asked is padding, "
          f"words right {right[words].float().mean():.4f}, "
          f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
