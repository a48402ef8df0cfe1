"""Reward model for rewritten headlines: pairs of a better and a worse one, padded on the left."""
import argparse

import torch
from torch import nn
import torch.nn.functional as F

PAD, BOS, EOS = 0, 1, 2
WORDS = 60


class HeadlineReward(nn.Module):
    def __init__(self, dim=40):
        super().__init__()
        self.embed = nn.Embedding(WORDS, dim, padding_idx=PAD)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.score = nn.Linear(dim, 1)

    def forward(self, ids, mask):
        """One score for each row, read at the last real token."""
        hidden, _ = self.rnn(self.embed(ids))
        values = self.score(hidden).squeeze(-1)
        rows = torch.arange(ids.size(0))
        last = ids.size(1) - 1 - mask.flip(1).long().argmax(1)
        return values[rows, last]


def left_pad(seqs):
    width = max(map(len, seqs))
    ids = torch.full((len(seqs), width), PAD)
    for i, seq in enumerate(seqs):
        ids[i, width - len(seq):] = torch.tensor(seq)
    return ids, ids != PAD


class Judge:
    """Readers like a headline for its closing words; how it starts plays no part."""

    def __init__(self):
        g = torch.Generator().manual_seed(17)
        self.appeal = torch.randn(WORDS, generator=g)

    def headline(self, gen):
        n = int(torch.randint(4, 20, (1,), generator=gen))
        return [BOS] + torch.randint(3, WORDS, (n,), generator=gen).tolist() + [EOS]

    def liking(self, seq):
        return self.appeal[torch.tensor(seq[-4:-1])].sum().item()

    def pair(self, gen):
        a, b = self.headline(gen), self.headline(gen)
        return (a, b) if self.liking(a) > self.liking(b) else (b, a)


def score_pairs(model, pairs):
    chosen, rejected = zip(*pairs)
    ids, mask = left_pad(list(chosen) + list(rejected))
    scores = model(ids, mask)
    return scores[: len(pairs)], scores[len(pairs):]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=160)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    judge = Judge()
    model = HeadlineReward()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.0)
    test = [judge.pair(gen) for _ in range(400)]
    for step in range(args.steps):
        better, worse = score_pairs(model, [judge.pair(gen) for _ in range(48)])
        loss = -F.logsigmoid(better - worse).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step} ranking loss {loss.item():.4f}")
    with torch.no_grad():
        better, worse = score_pairs(model, test)
    accuracy = (better > worse).float().mean().item()
    print(f"EVIDENCE ranking_loss={loss.item():.3f} pair_accuracy={accuracy:.3f}")


if __name__ == "__main__":
    main()
