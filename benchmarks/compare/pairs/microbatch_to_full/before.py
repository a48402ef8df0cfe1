"""Fine-tune a small LM to sort short lists; loss on answers only, gradient accumulation."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

LOW, HIGH = 3, 15
PAD, SEP, EOS = 0, 1, 2
MAX_ITEMS = 5
IGNORE = -100


class PairDataset:
    def __init__(self, size, seed):
        gen = torch.Generator().manual_seed(seed)
        self.items = []
        for _ in range(size):
            n = int(torch.randint(2, MAX_ITEMS + 1, (1,), generator=gen))
            values = torch.randint(LOW, HIGH, (n,), generator=gen)
            answer = torch.cat([values.sort().values, torch.tensor([EOS])])
            prompt = torch.cat([values, torch.tensor([SEP])])
            self.items.append((prompt, answer))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def pad_batch(items):
    width = max(len(p) + len(a) for p, a in items)
    ids = torch.full((len(items), width), PAD)
    labels = torch.full((len(items), width), IGNORE)
    for row, (p, a) in enumerate(items):
        ids[row, :len(p) + len(a)] = torch.cat([p, a])
        labels[row, len(p):len(p) + len(a)] = a
    return ids, labels


class SortLm(nn.Module):
    def __init__(self, dim=96):
        super().__init__()
        self.emb = nn.Embedding(HIGH, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, HIGH))

    def forward(self, ids):
        return self.head(self.rnn(self.emb(ids))[0])


def answer_nll(model, ids, labels):
    logits = model(ids[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten(),
                           ignore_index=IGNORE, reduction="sum")


@torch.no_grad()
def accuracy(model, dataset):
    ids, labels = pad_batch([dataset[i] for i in range(len(dataset))])
    keep = labels[:, 1:] != IGNORE
    pred = model(ids[:, :-1]).argmax(-1)
    nll = answer_nll(model, ids, labels).item() / keep.sum().item()
    return (pred == labels[:, 1:])[keep].float().mean().item(), nll


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=100)
    ap.add_argument("--micro-batch", type=int, default=16)
    ap.add_argument("--accum", type=int, default=4)
    args = ap.parse_args()
    torch.manual_seed(args.seed)

    train, valid = PairDataset(1500, args.seed), PairDataset(300, args.seed + 77)
    loader = torch.utils.data.DataLoader(train, batch_size=args.micro_batch, shuffle=True,
                                         drop_last=True, collate_fn=pad_batch)
    model = SortLm()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.steps)

    it = iter(loader)
    for step in range(args.steps):
        group = []
        while len(group) < args.accum:
            try:
                group.append(next(it))
            except StopIteration:
                it = iter(loader)
        n_tokens = sum((labels != IGNORE).sum() for _, labels in group)
        total = 0.0
        for ids, labels in group:
            loss = answer_nll(model, ids, labels) / n_tokens
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
        sched.step()
        if step % 20 == 0:
            print(f"step {step} loss {total:.4f}")

    acc, nll = accuracy(model, valid)
    print(f"EVIDENCE valid_acc={acc:.4f} valid_nll={nll:.4f}")


if __name__ == "__main__":
    main()
