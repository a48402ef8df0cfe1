"""Padding-free training on packed documents: a note of words with a code at its end, asked for by the last token."""
import argparse
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

WORDS, CODES = 16, 8
ASK = WORDS + CODES
VOCAB = ASK + 1
IGNORE = -100


@dataclass
class Document:
    context: list
    answer: list


def write_note(gen):
    length = int(torch.randint(4, 19, (1,), generator=gen))
    words = torch.randint(0, WORDS, (length,), generator=gen).tolist()
    code = WORDS + int(torch.randint(0, CODES, (1,), generator=gen))
    return Document(words + [code], [ASK, code])


def fit(document, max_length):
    """Shorten the context, never the answer."""
    room = max_length - len(document.answer)
    context = document.context[-room:]
    return context + document.answer


def flatten(documents, max_length):
    """One long row: ids, labels (already shifted by one), number of the document, place in the document."""
    ids, labels, number, place = [], [], [], []
    for k, document in enumerate(documents):
        tokens = fit(document, max_length)
        own = list(tokens)
        own[0] = IGNORE
        ids += tokens
        labels += own
        number += [k] * len(tokens)
        place += range(len(tokens))
    labels = labels[1:] + [IGNORE]
    return tuple(torch.tensor(x) for x in (ids, labels, number, place))


class PackedLM(nn.Module):
    def __init__(self, dim=48, heads=4, layers=2, longest=32):
        super().__init__()
        self.token, self.place = nn.Embedding(VOCAB, dim), nn.Embedding(longest, dim)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, heads, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)
            for _ in range(layers))
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, ids, number, place):
        x = (self.token(ids) + self.place(place))[None]
        visible = (number[:, None] == number[None]) & torch.ones(len(ids), len(ids), dtype=torch.bool).tril()
        for layer in self.layers:
            x = layer(x, src_mask=~visible)
        return self.head(x)[0]


def lengths_of(number):
    return torch.bincount(number)


@torch.no_grad()
def accuracy(model, gen, max_length, n=48):
    ids, _, number, place = flatten([write_note(gen) for _ in range(n)], max_length)
    last = lengths_of(number).cumsum(0) - 1
    guess = model(ids, number, place)[last - 1].argmax(-1)
    return (guess == ids[last]).float().mean().item()


def train(args):
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = PackedLM()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    across = 0
    for step in range(args.steps):
        documents = [write_note(gen) for _ in range(16)]
        ids, labels, number, place = flatten(documents, args.max_length)
        loss = F.cross_entropy(model(ids, number, place), labels, ignore_index=IGNORE)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        across += (labels[lengths_of(number).cumsum(0) - 1] != IGNORE).sum().item()
        if step % 50 == 0:
            print(f"step {step}: {len(ids)} tokens, loss {loss.item():.4f}")
    score = accuracy(model, torch.Generator().manual_seed(4), args.max_length)
    print(f"EVIDENCE labels_across_documents={across} code_accuracy={score:.3f} loss={loss.item():.4f}")


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--steps", type=int, default=200)
    p.add_argument("--max-length", type=int, default=12)
    train(p.parse_args())
