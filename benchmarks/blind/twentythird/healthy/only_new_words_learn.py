"""New words are added to a frozen model. Their rows of the embeddings alone learn: a hook takes the gradient off all others."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

OLD, NEW, LENGTH = 20, 4, 10


class LM(nn.Module):
    def __init__(self, words, width=40):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def rows(gen, words, size=24):
    """Words follow each other in a ring; with new words the ring is wider by these."""
    start = torch.randint(0, words, (size, 1), generator=gen)
    return (start + torch.randint(1, 3, (size, 1), generator=gen) * torch.arange(LENGTH)) % words


def loss_of(model, ids):
    return F.cross_entropy(model(ids[:, :-1])[:, 1:].flatten(0, 1), ids[:, 2:].flatten())


def extend(model):
    old = model.embed.weight.data
    rows_of_new = old.mean(0, keepdim=True) + 0.02 * torch.randn(NEW, old.shape[1])
    model.embed = nn.Embedding.from_pretrained(torch.cat([old, rows_of_new]), freeze=False)
    model.head = nn.Linear(old.shape[1], OLD + NEW, bias=False)
    model.head.weight = model.embed.weight
    for p in model.rnn.parameters():
        p.requires_grad_(False)
    keep = torch.zeros(OLD + NEW, 1)
    keep[OLD:] = 1
    model.embed.weight.register_hook(lambda grad: grad * keep)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = LM(OLD)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(120):
        loss = loss_of(model, rows(gen, OLD))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"before: loss {loss.item():.4f}")
    extend(model)
    before = model.embed.weight.detach().clone()
    optimizer = torch.optim.Adam([model.embed.weight], lr=args.lr)       # no decay: it would move the old rows
    for step in range(args.steps):
        loss = loss_of(model, rows(gen, OLD + NEW))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 39:
            moved = (model.embed.weight.detach() - before).norm(dim=1)
            print(f"step {step + 1} loss {loss.item():.4f} old moved {moved[:OLD].max():.4f} new moved {moved[OLD:].min():.4f}")


if __name__ == "__main__":
    main()
