"""Embedding and head as two copies of one matrix, as pipeline stages hold them: equal at the start, gradients summed."""

import heapq

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

from options import options


class Windows(Dataset):
    def __init__(self, ids, length):
        self.ids, self.length = ids, length

    def __len__(self):
        return (len(self.ids) - 1) // self.length

    def __getitem__(self, i):
        at = i * self.length
        return self.ids[at : at + self.length], self.ids[at + 1 : at + self.length + 1]


class FirstStage(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)

    def forward(self, ids):
        return self.rnn(self.word_embeddings(ids))[0]


class LastStage(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.word_embeddings = nn.Parameter(torch.empty(vocab, dim))

    def forward(self, h):
        return F.linear(self.norm(h), self.word_embeddings)


class Pipeline(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.first, self.last = FirstStage(vocab, dim), LastStage(vocab, dim)
        nn.init.normal_(self.first.word_embeddings.weight, std=0.05)
        with torch.no_grad():
            self.last.word_embeddings.copy_(self.first.word_embeddings.weight)

    def forward(self, ids):
        return self.last(self.first(ids))

    def allreduce_embedding_grads(self):
        a, b = self.first.word_embeddings.weight, self.last.word_embeddings
        total = a.grad + b.grad
        a.grad.copy_(total)
        b.grad.copy_(total)


def main():
    args = options(lr=6e-3, width=32, steps=40)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    with open(heapq.__file__) as f:
        ids = torch.tensor([min(ord(c), 127) for c in f.read(13000)])
    loader = DataLoader(Windows(ids, 32), batch_size=20, shuffle=True, drop_last=True)
    model = Pipeline(128, args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    epochs = max(2, args.steps // len(loader))
    model.train()
    for epoch in range(epochs):
        for x, y in loader:
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            model.allreduce_embedding_grads()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}")
    gap = (model.first.word_embeddings.weight - model.last.word_embeddings).abs().max().item()
    print(f"difference of the copies {gap:.6f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
