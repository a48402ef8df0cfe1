"""Elevator log model: the collator shifts the labels, the loss takes them as they come."""
import argparse

import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

FLOORS, LENGTH = 22, 14


class Trips(Dataset):
    def __init__(self, n=800):
        g = torch.Generator().manual_seed(4)
        rule = torch.randperm(FLOORS, generator=g)
        rows = [torch.randint(FLOORS, (n,), generator=g)]
        for i in range(LENGTH):
            rows.append((rule[rows[-1]] + i % 2) % FLOORS)
        self.rows = torch.stack(rows, 1)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    """input t and label t belong together: label t is the token after input t."""
    rows = torch.stack(rows)
    return {"input_ids": rows[:, :-1], "labels": rows[:, 1:]}


class TripLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(FLOORS, 32)
        self.rnn = nn.GRU(32, 48, batch_first=True)
        self.head = nn.Linear(48, FLOORS)

    def forward(self, input_ids, labels=None):
        logits = self.head(self.rnn(self.embed(input_ids))[0])
        if labels is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), labels.flatten())


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    loader = DataLoader(Trips(), batch_size=64, shuffle=True, drop_last=True, collate_fn=collate)
    model = TripLM()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    step = 0
    while step < args.steps:
        for batch in loader:
            logits, loss = model(**batch)
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            if step % 30 == 0:
                acc = (logits.argmax(-1) == batch["labels"]).float().mean().item()
                print(f"step {step} loss {loss.item():.4f} accuracy {acc:.3f}")
            if step >= args.steps:
                break
    print(f"last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
