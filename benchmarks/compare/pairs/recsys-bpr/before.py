"""Implicit-feedback recommender with a pairwise ranking loss and sampled negatives."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

N_USERS, N_ITEMS, DIM = 300, 500, 32


def make_interactions(seed):
    gen = torch.Generator().manual_seed(seed + 5)
    users = torch.randn(N_USERS, 6, generator=gen)
    items = torch.randn(N_ITEMS, 6, generator=gen)
    score = users @ items.T + 0.5 * torch.randn(N_USERS, N_ITEMS, generator=gen)
    liked = score.topk(25, dim=1).indices
    pairs = torch.stack([torch.arange(N_USERS).repeat_interleave(25), liked.reshape(-1)], 1)
    order = torch.randperm(len(pairs), generator=gen)
    pairs = pairs[order]
    return pairs[:6000], pairs[6000:]


class TwoTower(nn.Module):
    def __init__(self, dropout=0.2):
        super().__init__()
        self.user = nn.Embedding(N_USERS, DIM)
        self.item = nn.Embedding(N_ITEMS, DIM)
        self.user_mlp = nn.Sequential(nn.Linear(DIM, DIM), nn.ReLU(), nn.Dropout(dropout), nn.Linear(DIM, DIM))
        self.item_mlp = nn.Sequential(nn.Linear(DIM, DIM), nn.ReLU(), nn.Dropout(dropout), nn.Linear(DIM, DIM))

    def encode_users(self, u):
        e = self.user(u)
        return e + self.user_mlp(e)

    def encode_items(self, i):
        e = self.item(i)
        return e + self.item_mlp(e)


@torch.no_grad()
def recall_at(model, test, k=20):
    model.eval()
    score = model.encode_users(torch.arange(N_USERS)) @ model.encode_items(torch.arange(N_ITEMS)).T
    top = score.topk(k, dim=1).indices
    model.train()
    return (top[test[:, 0]] == test[:, 1:]).any(1).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)

    train, test = make_interactions(args.seed)
    model = TwoTower()
    opt = torch.optim.Adagrad(model.parameters(), lr=0.05)
    for step in range(args.steps):
        rows = train[torch.randint(0, len(train), (256,))]
        negatives = torch.randint(0, N_ITEMS, (256, 4))
        u = model.encode_users(rows[:, 0])
        pos = (u * model.encode_items(rows[:, 1])).sum(1)
        neg = (u[:, None] * model.encode_items(negatives)).sum(2)
        loss = F.softplus(neg - pos[:, None]).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0 or step == args.steps - 1:
            print(f"step {step} loss {loss.item():.6f} recall@20 {recall_at(model, test):.4f}")


if __name__ == "__main__":
    main()
