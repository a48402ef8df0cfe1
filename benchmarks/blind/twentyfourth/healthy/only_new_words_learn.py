"""Synonyms are added to a trained model; a hook zeroes the gradient of all older rows of the embedding, the rest is frozen."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

OLD, NEW, SEQ = 18, 4, 9


class SmallLM(nn.Module):
    def __init__(self, vocab, dim=48):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.project = nn.Linear(dim, dim)

    def forward(self, ids):
        return F.linear(self.project(self.rnn(self.embed(ids))[0]), self.embed.weight)


def text(count, gen, with_new):
    """Old words count upwards. New word k means the same as old word 4 * k and stands in its place half of the time."""
    ids = (torch.randint(0, OLD, (count, 1), generator=gen) + torch.arange(SEQ)) % OLD
    if with_new:
        replaced = (ids % 4 == 0) & (ids < 4 * NEW) & (torch.rand(ids.shape, generator=gen) < 0.5)
        ids = torch.where(replaced, OLD + ids // 4, ids)
    return ids


def extend_embedding(model, extra):
    old = model.embed.weight.data
    model.embed = nn.Embedding(len(old) + extra, old.shape[1])
    with torch.no_grad():
        model.embed.weight[:len(old)] = old
        model.embed.weight[len(old):] = old.mean(0) + 0.02 * torch.randn(extra, old.shape[1])


def fit(model, params, lr, steps, gen, with_new):
    optimizer = torch.optim.Adam(params, lr=lr)          # no weight decay: it would move the rows that are to stay
    for step in range(steps):
        ids = text(32, gen, with_new)
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 15 == 0 or step == steps - 1:
            print(f"step {step} loss {loss.item():.4f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-2)
    parser.add_argument("--steps", type=int, default=45)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = SmallLM(OLD)
    fit(model, model.parameters(), 1e-2, 12, gen, with_new=False)
    extend_embedding(model, NEW)
    model.requires_grad_(False)
    model.embed.weight.requires_grad_(True)
    keep = torch.zeros(OLD + NEW, 1)
    keep[OLD:] = 1.0
    model.embed.weight.register_hook(lambda grad: grad * keep)
    before = model.embed.weight.detach().clone()
    fit(model, [model.embed.weight], args.lr, args.steps, gen, with_new=True)
    change = (model.embed.weight.detach() - before).abs().amax(1)
    print(f"old rows moved {change[:OLD].max().item():.6f}, new rows moved {change[OLD:].min().item():.4f}")


if __name__ == "__main__":
    main()
