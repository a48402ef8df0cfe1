"""Dates from one form into another: GRU encoder and decoder with attention, teacher forcing, greedy decoding."""

import datetime
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

from options import options

CHARS = "^$ 0123456789-abcdefghijklmnopqrstuvwxyzADFJMNOS"
START, END, PAD = 0, 1, 2


def encode(text, length):
    ids = [CHARS.index(c) for c in text] + [END]
    return torch.tensor(ids + [PAD] * (length - len(ids)))


def make_pairs(n, seed):
    rng = random.Random(seed)
    days = [datetime.date(1970, 1, 1) + datetime.timedelta(days=rng.randrange(20000)) for _ in range(n)]
    return [(encode(d.strftime("%d %b %Y"), 12), encode(d.isoformat(), 11)) for d in days]


class Seq2Seq(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.embed = nn.Embedding(len(CHARS), hidden, padding_idx=PAD)
        self.encoder = nn.GRU(hidden, hidden, batch_first=True)
        self.decoder = nn.GRUCell(2 * hidden, hidden)
        self.query = nn.Linear(hidden, hidden, bias=False)
        self.dropout = nn.Dropout(0.1)
        self.out = nn.Linear(2 * hidden, len(CHARS))
        for name, p in self.named_parameters():
            if "weight_hh" in name:
                nn.init.orthogonal_(p)
            elif "bias" in name:
                nn.init.constant_(p, 0.0)

    def attend(self, state, memory):
        scores = torch.bmm(memory, self.query(state).unsqueeze(2)).squeeze(2)
        weights = F.softmax(scores, dim=1)
        return torch.bmm(weights.unsqueeze(1), memory).squeeze(1)

    def step(self, token, state, memory):
        context = self.attend(state, memory)
        state = self.decoder(torch.cat([self.embed(token), context], dim=1), state)
        return self.out(self.dropout(torch.cat([state, context], dim=1))), state

    def forward(self, src, tgt):
        memory, state = self.encoder(self.embed(src))
        state, token, logits = state[0], torch.full((len(src),), START), []
        for t in range(tgt.shape[1]):
            out, state = self.step(token, state, memory)
            logits.append(out)
            token = tgt[:, t]
        return torch.stack(logits, dim=1)

    @torch.no_grad()
    def translate(self, src, max_length):
        memory, state = self.encoder(self.embed(src))
        state, token, out = state[0], torch.full((len(src),), START), []
        while len(out) < max_length and not (token == END).all():
            logits, state = self.step(token, state, memory)
            token = logits.argmax(-1)
            out.append(token)
        return torch.stack(out, dim=1)


def main():
    args = options(lr=8e-3, width=48, steps=40)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    loader = DataLoader(make_pairs(640, args.seed), batch_size=64, shuffle=True)
    model = Seq2Seq(args.width)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    for epoch in range(max(2, args.steps // len(loader))):
        model.train()
        for src, tgt in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(src, tgt).transpose(1, 2), tgt, ignore_index=PAD)
            loss.backward()
            nn.utils.clip_grad_value_(model.parameters(), 0.5)
            optimizer.step()
        scheduler.step()
        model.eval()
        src, tgt = next(iter(loader))
        print(f"epoch {epoch}: loss {loss.item():.3f}, decoded {tuple(model.translate(src, max_length=11).shape)}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
