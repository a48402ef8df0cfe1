"""A language model with draft heads: the heads read detached states, so that their losses leave the trunk alone, and no head has decay."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn

VOCAB, LENGTH = 18, 20


class Drafter(nn.Module):
    def __init__(self, width=40, heads=2):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.heads = nn.ModuleList([nn.Linear(width, VOCAB) for _ in range(heads)])

    def forward(self, ids):
        hidden, _ = self.rnn(self.embed(ids))
        logits = hidden @ self.embed.weight.T          # tied
        return logits, [head(hidden.detach()) for head in self.heads]


def texts(gen, n=24):
    ids = torch.zeros(n, LENGTH, dtype=torch.long)
    ids[:, 0] = torch.randint(0, VOCAB, (n,), generator=gen)
    for t in range(1, LENGTH):
        jump = torch.where(torch.rand(n, generator=gen) < 0.9, 5, 2)
        ids[:, t] = (ids[:, t - 1] + jump) % VOCAB
    return ids


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--steps", type=int, default=40)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = Drafter()
    trunk = [*model.embed.parameters(), *model.rnn.parameters()]
    optimizer = torch.optim.AdamW([{"params": trunk, "weight_decay": 0.05},
                                   {"params": model.heads.parameters(), "weight_decay": 0.0, "lr": 2 * args.lr}], lr=args.lr)
    gen = torch.Generator().manual_seed(args.seed + 3)
    for step in range(args.steps):
        ids = texts(gen)
        logits, drafts = model(ids)
        loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        for ahead, draft in enumerate(drafts, start=2):
            loss = loss + 0.5 * F.cross_entropy(draft[:, :-ahead].flatten(0, 1), ids[:, ahead:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % 10 == 0:
            print(f"step {step + 1} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
