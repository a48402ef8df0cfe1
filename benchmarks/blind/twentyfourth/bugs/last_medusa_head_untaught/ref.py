"""Medusa heads on a small recurrent language model: head number i guesses the word i + 2 places ahead."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn

VOCAB, LENGTH = 20, 24


class LanguageModel(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.lm_head = nn.Linear(width, VOCAB)

    def forward(self, ids):
        hidden, _ = self.rnn(self.embed(ids))
        return hidden, self.lm_head(hidden)


class ResBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        nn.init.zeros_(self.linear.weight)

    def forward(self, x):
        return x + F.silu(self.linear(x))


class MedusaHeads(nn.Module):
    def __init__(self, number, width=48):
        super().__init__()
        self.number = number
        self.heads = nn.ModuleList([nn.Sequential(ResBlock(width), nn.Linear(width, VOCAB)) for _ in range(number)])

    def forward(self, hidden):
        return torch.stack([head(hidden) for head in self.heads])


def texts(gen, n=24):
    """Each word follows from the last by a fixed table, with some slips."""
    table = torch.randperm(VOCAB, generator=torch.Generator().manual_seed(11))
    ids = torch.zeros(n, LENGTH, dtype=torch.long)
    ids[:, 0] = torch.randint(0, VOCAB, (n,), generator=gen)
    for t in range(1, LENGTH):
        slip = torch.rand(n, generator=gen) < 0.04
        ids[:, t] = torch.where(slip, torch.randint(0, VOCAB, (n,), generator=gen), table[ids[:, t - 1]])
    return ids


def medusa_loss(logits, ids, decay=0.8):
    total = 0.0
    for i in range(len(logits)):
        shift = i + 2
        guess, truth = logits[i][:, :-shift], ids[:, shift:]
        total = total + decay ** i * F.cross_entropy(guess.flatten(0, 1), truth.flatten())
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--heads", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model, medusa = LanguageModel(), MedusaHeads(args.heads)
    optimizer = torch.optim.AdamW([*model.parameters(), *medusa.parameters()], lr=args.lr, weight_decay=0.0)
    gen = torch.Generator().manual_seed(args.seed + 1)
    for step in range(args.steps):
        ids = texts(gen)
        hidden, logits = model(ids)
        language = F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        # the backbone learns from its own loss alone
        loss = language + medusa_loss(medusa(hidden.detach()), ids)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % 10 == 0:
            print(f"step {step + 1} loss {loss.item():.4f} language {language.item():.4f}")
    ids = texts(torch.Generator().manual_seed(500), 200)
    with torch.no_grad():
        logits = medusa(model(ids)[0])
    hits = [(logits[i][:, :-(i + 2)].argmax(-1) == ids[:, i + 2:]).float().mean().item() for i in range(args.heads)]
    print(f"EVIDENCE first_head={hits[0]:.4f} last_head={hits[-1]:.4f}")


if __name__ == "__main__":
    main()
