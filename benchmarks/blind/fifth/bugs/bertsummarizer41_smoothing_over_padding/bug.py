"""A sequence-to-sequence model turns digits round; its loss is smoothed over the vocabulary and leaves padding out."""

import argparse

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()
PAD, START, WORDS, SMOOTH = 0, 1, 14, 0.1


class SmoothedLoss(nn.Module):
    def forward(self, logits, target):
        logp = logits.log_softmax(-1)
        padding = target.eq(PAD).unsqueeze(-1)
        exact = -logp.gather(-1, target.unsqueeze(-1)).masked_fill(padding, 0.0)
        even = -logp.mean(-1, keepdim=True)
        count = (~padding).sum()
        return ((1 - SMOOTH) * exact.sum() + SMOOTH * even.sum()) / count


class Reverser(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.embed = nn.Embedding(WORDS, width, padding_idx=PAD)
        self.encoder = nn.GRU(width, width, batch_first=True)
        self.decoder = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, WORDS)

    def forward(self, source, given, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.embed(source), lengths, batch_first=True, enforce_sorted=False)
        return self.head(self.decoder(self.embed(given), self.encoder(packed)[1])[0])


def batch(count):
    sources = [torch.randint(2, WORDS, (int(n),)) for n in torch.randint(2, 9, (count,))]
    targets = [source.flip(0) for source in sources]
    given = [torch.cat([torch.tensor([START]), target[:-1]]) for target in targets]
    lengths = torch.tensor([len(source) for source in sources])
    return *(pad_sequence(texts, batch_first=True, padding_value=PAD) for texts in (sources, given, targets)), lengths


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model, criterion = Reverser(), SmoothedLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for step in range(args.steps):
    source, given, target, lengths = batch(48)
    loss = criterion(model(source, given, lengths), target)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step}: loss {loss.item():.4f}")
logits = model(source, given, lengths)
gradient, = torch.autograd.grad(criterion(logits, target), logits)
share = gradient[target == PAD].abs().sum() / gradient.abs().sum()
print(f"EVIDENCE {share:.4f} of the gradient stands at padding")

# SPDX-License-Identifier: Apache-2.0
