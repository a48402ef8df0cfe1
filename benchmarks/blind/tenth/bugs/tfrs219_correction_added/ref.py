"""Two towers for retrieval with negatives from the batch; popular items are met too often and are corrected for."""
import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=500)
USERS, ITEMS, DIM = 400, 300, 16


class Interactions(Dataset):
    def __init__(self, users, items):
        self.users, self.items = users, items

    def __len__(self):
        return len(self.users)

    def __getitem__(self, index):
        return self.users[index], self.items[index]


class TwoTower(nn.Module):
    def __init__(self):
        super().__init__()
        self.user = nn.Embedding(USERS, DIM)
        self.item = nn.Embedding(ITEMS, DIM)
        self.project = nn.Linear(DIM, DIM)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)

    def embed_items(self, items):
        return self.item(items)

    def embed_users(self, users):
        return self.project(self.user(users))


def make_data(rng):
    taste = rng.normal(size=(USERS, 4))
    kind = rng.normal(size=(ITEMS, 4))
    popularity = -1.0 * np.log(np.arange(1, ITEMS + 1))
    scores = 1.2 * taste @ kind.T + popularity[rng.permutation(ITEMS)]
    chances = np.exp(scores - scores.max(1, keepdims=True))
    chances /= chances.sum(1, keepdims=True)
    pairs = [(u, i) for u in range(USERS) for i in rng.choice(ITEMS, 30, replace=False, p=chances[u])]
    pairs = np.array(pairs)[rng.permutation(len(pairs))]
    cut = int(0.85 * len(pairs))
    return pairs[:cut], pairs[cut:]


def retrieval_loss(user_vec, item_vec, items, log_q):
    logits = user_vec @ item_vec.T
    logits = logits - log_q[items]
    same = items[None, :] == items[:, None]
    same.fill_diagonal_(False)
    logits = logits.masked_fill(same, float("-inf"))
    return nn.functional.cross_entropy(logits, torch.arange(len(items)))


@torch.no_grad()
def recall(model, seen, held_out, k=20):
    scores = model.embed_users(torch.arange(USERS)) @ model.embed_items(torch.arange(ITEMS)).T
    scores[seen[:, 0], seen[:, 1]] = float("-inf")
    top = scores.topk(k, dim=1).indices
    hits = (top[held_out[:, 0]] == held_out[:, 1:]).any(1)
    return hits.float().mean().item(), top


def main():
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    train, test = (torch.tensor(part) for part in make_data(np.random.default_rng(args.seed)))
    counts = torch.bincount(train[:, 1], minlength=ITEMS).float()
    log_q = torch.log((counts + 1) / (counts + 1).sum())
    loader = DataLoader(Interactions(train[:, 0], train[:, 1]), batch_size=256, shuffle=True, drop_last=True)
    model = TwoTower()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    step = 0
    while step < args.steps:
        for users, items in loader:
            loss = retrieval_loss(model.embed_users(users), model.embed_items(items), items, log_q)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 100 == 0:
                print(f"step {step}: loss {loss.item():.4f}, recall {recall(model, train, test)[0]:.4f}")
            if step == args.steps:
                break
    score, top = recall(model, train, test)
    print(f"EVIDENCE recall of twenty {score:.4f}, mean count of what is retrieved {counts[top].mean().item():.1f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
