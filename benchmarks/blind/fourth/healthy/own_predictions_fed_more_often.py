"""A decoder is fed the true words at first and its own ones more and more often; validation feeds only its own."""

import argparse
import math

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=8e-3)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
WORDS, LENGTH, START, WIDTH = 10, 6, 10, 48


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.source, self.target = nn.Embedding(WORDS, WIDTH), nn.Embedding(WORDS + 1, WIDTH)
        self.encoder, self.cell = nn.GRU(WIDTH, WIDTH, batch_first=True), nn.GRUCell(2 * WIDTH, WIDTH)
        self.out = nn.Linear(2 * WIDTH, WORDS)

    def forward(self, source, target=None, truth=0.0):
        states, hidden = self.encoder(self.source(source))
        hidden, word, logits = hidden[0], torch.full((len(source),), START), []
        for t in range(LENGTH):
            weights = torch.einsum("bw,btw->bt", hidden, states).softmax(1)
            context = torch.einsum("bt,btw->bw", weights, states)
            hidden = self.cell(torch.cat([self.target(word), context], 1), hidden)
            logits.append(self.out(torch.cat([hidden, context], 1)))
            word = logits[-1].detach().argmax(1)
            if target is not None:
                word = torch.where(torch.rand(len(word)) < truth, target[:, t], word)
        return torch.stack(logits, 1)


def batch(n):
    source = torch.randint(WORDS, (n, LENGTH))
    return source, (source.flip(1) + 1) % WORDS


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Seq2Seq()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for step in range(args.steps):
    truth = 12 / (12 + math.exp(step / 8))
    source, target = batch(64)
    loss = nn.functional.cross_entropy(model(source, target, truth).flatten(0, 1), target.flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 15 == 14:
        model.eval()
        with torch.no_grad():
            source, target = batch(128)
            right = (model(source).argmax(-1) == target).float().mean()
        model.train()
        print(f"step {step}: loss {loss.item():.3f} with {truth:.2f} true words, {right:.3f} right on its own")

# SPDX-License-Identifier: Apache-2.0
