"""Sequence to sequence with attention: numbers in words are written as digits; teacher forcing by a coin, greedy decoding in tests."""
import argparse
import random

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

PAD, BOS, EOS = 0, 1, 2
NAMES = "zero one two three four five six seven eight nine".split()
LETTERS = {c: i + 3 for i, c in enumerate(sorted(set("".join(NAMES) + " ")))}


def pair(rng):
    digits = [rng.randrange(10) for _ in range(rng.randint(1, 4))]
    return torch.tensor([LETTERS[c] for c in " ".join(NAMES[d] for d in digits)]), torch.tensor([d + 3 for d in digits] + [EOS])


def make_batch(rng, size):
    sources, targets = zip(*(pair(rng) for _ in range(size)))
    return pad_sequence(sources, batch_first=True), torch.tensor([len(s) for s in sources]), pad_sequence(targets, batch_first=True)


class Translator(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.source, self.target = nn.Embedding(len(LETTERS) + 3, 24, padding_idx=PAD), nn.Embedding(13, 24, padding_idx=PAD)
        self.encoder = nn.GRU(24, width // 2, batch_first=True, bidirectional=True)
        self.cell = nn.GRUCell(24 + width, width)
        self.key = nn.Linear(width, width, bias=False)
        self.out = nn.Sequential(nn.Dropout(0.1), nn.Linear(2 * width, 13))

    def forward(self, source, lengths, target=None, limit=6):
        packed = pack_padded_sequence(self.source(source), lengths, batch_first=True, enforce_sorted=False)
        states, last = self.encoder(packed)
        states, _ = pad_packed_sequence(states, batch_first=True)
        hidden = torch.cat([last[0], last[1]], 1)
        keys, padding = self.key(states), source == PAD
        token, outputs = torch.full((len(source),), BOS), []
        context = torch.zeros_like(hidden)
        for t in range(limit if target is None else target.shape[1]):
            hidden = self.cell(torch.cat([self.target(token), context], 1), hidden)
            scores = (keys * hidden[:, None]).sum(-1).masked_fill(padding, -1e9)
            context = (scores.softmax(1)[..., None] * states).sum(1)
            outputs.append(self.out(torch.cat([hidden, context], 1)))
            token = outputs[-1].argmax(1) if target is None else target[:, t]
            if target is not None and not self.teach:
                token = outputs[-1].argmax(1)
        return torch.stack(outputs, 1)

    teach = True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=160)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng, held_out = random.Random(args.seed), random.Random(args.seed + 1000)
    model = Translator()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, max(1, args.steps // 3), gamma=0.5)
    forced = 0
    for step in range(1, args.steps + 1):
        model.train()
        source, lengths, target = make_batch(rng, rng.choice([24, 32, 48]))
        model.teach = rng.random() < max(0.4, 1 - step / args.steps)
        forced += model.teach
        loss = nn.functional.cross_entropy(model(source, lengths, target).flatten(0, 1), target.flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        if step % 60 == 0:
            model.eval()
            source, lengths, target = make_batch(held_out, 100)
            with torch.no_grad():
                said = model(source, lengths).argmax(-1)
            right = sum(torch.equal(s[:(t != PAD).sum()], t[t != PAD]) for s, t in zip(said, target)) / 100
            print(f"step {step}: loss {loss.item():.4f}, whole numbers right {right:.3f}, forced {forced}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
