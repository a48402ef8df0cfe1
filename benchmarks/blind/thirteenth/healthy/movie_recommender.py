"""Implicit-feedback recommender: embeddings with side features, sampled negatives, BPR loss, recall at 10."""

import argparse

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=2e-2)
parser.add_argument("--steps", type=int, default=8, help="epochs")
parser.add_argument("--batch-size", type=int, default=512)
parser.add_argument("--negatives", type=int, default=4)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
rng = np.random.default_rng(args.seed)

USERS, ITEMS, GENRES, TASTE = 400, 250, 12, 6


def make_interactions():
    """Users and items have hidden tastes; popular items are seen more. The last item of a user is held out."""
    genre = rng.integers(0, GENRES, ITEMS)
    centre = rng.normal(0, 1, (GENRES, TASTE))
    item = centre[genre] + 0.4 * rng.normal(0, 1, (ITEMS, TASTE))
    user = rng.normal(0, 1, (USERS, TASTE))
    popularity = rng.normal(0, 0.7, ITEMS)
    score = 1.2 * user @ item.T + popularity + rng.gumbel(0, 1, (USERS, ITEMS))
    train, test, seen = [], [], []
    for u in range(USERS):
        n = int(rng.integers(10, 30))
        liked = np.argsort(-score[u])[:n]
        rng.shuffle(liked)
        test.append(int(liked[-1]))
        seen.append(set(liked[:-1].tolist()))
        train += [(u, int(i)) for i in liked[:-1]]
    return np.array(train), np.array(test), seen, genre


def sample_negatives(users, seen, k):
    """Uniform items which the user has not touched; collisions are drawn again."""
    draws = rng.integers(0, ITEMS, (len(users), k))
    for row, u in enumerate(users):
        for col in range(k):
            while draws[row, col] in seen[u]:
                draws[row, col] = rng.integers(0, ITEMS)
    return draws


class Recommender(nn.Module):
    def __init__(self, genre, dim=24):
        super().__init__()
        self.register_buffer("genre", torch.as_tensor(genre))
        self.user = nn.Embedding(USERS, dim)
        self.item = nn.Embedding(ITEMS, dim)
        self.genre_emb = nn.Embedding(GENRES, dim)
        self.item_bias = nn.Embedding(ITEMS, 1)
        for emb in (self.user, self.item, self.genre_emb):
            nn.init.normal_(emb.weight, std=0.05)
        nn.init.zeros_(self.item_bias.weight)

    def item_vector(self, items):
        return self.item(items) + self.genre_emb(self.genre[items])

    def forward(self, users, items):
        """users [B], items [B, K] -> scores [B, K]"""
        u = self.user(users).unsqueeze(1)
        return (u * self.item_vector(items)).sum(-1) + self.item_bias(items).squeeze(-1)

    def score_all(self, users):
        items = torch.arange(ITEMS)
        return self.user(users) @ self.item_vector(items).t() + self.item_bias.weight.t()


@torch.no_grad()
def recall_at(model, test, seen, k=10):
    model.eval()
    scores = model.score_all(torch.arange(USERS))
    for u, items in enumerate(seen):
        scores[u, list(items)] = -torch.inf
    top = scores.topk(k, dim=1).indices
    return (top == torch.as_tensor(test).unsqueeze(1)).any(1).float().mean().item()


train, test, seen, genre = make_interactions()
model = Recommender(genre)
decay = [p for n, p in model.named_parameters() if "bias" not in n]
no_decay = [p for n, p in model.named_parameters() if "bias" in n]
opt = torch.optim.AdamW(
    [{"params": decay, "weight_decay": 5e-2}, {"params": no_decay, "weight_decay": 0.0}], lr=args.lr
)
sched = torch.optim.lr_scheduler.StepLR(opt, step_size=3, gamma=0.5)
for epoch in range(args.steps):
    model.train()
    order = rng.permutation(len(train))
    losses = []
    for start in range(0, len(order), args.batch_size):
        rows = train[order[start : start + args.batch_size]]
        negatives = sample_negatives(rows[:, 0], seen, args.negatives)
        users = torch.as_tensor(rows[:, 0])
        items = torch.as_tensor(np.concatenate([rows[:, 1:], negatives], axis=1))
        scores = model(users, items)
        loss = -F.logsigmoid(scores[:, :1] - scores[:, 1:]).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    sched.step()
    if epoch % 2 == 1:
        print(f"epoch {epoch} lr {sched.get_last_lr()[0]:.4f} bpr {np.mean(losses):.3f} recall@10 {recall_at(model, test, seen):.3f}")
