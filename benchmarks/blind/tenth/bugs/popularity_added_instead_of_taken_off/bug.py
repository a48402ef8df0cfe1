"""Two towers for recommendation with the other items of a batch as negatives, corrected for how popular they are."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=300)
args = parser.parse_args()
USERS, ITEMS = 300, 120


class TwoTowers(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.users, self.items = nn.Embedding(USERS, width), nn.Embedding(ITEMS, width)
        nn.init.normal_(self.users.weight, std=0.3)
        nn.init.normal_(self.items.weight, std=0.3)

    def forward(self, users, items):
        return self.users(users) @ self.items(items).T


def make_purchases():
    """Tastes decide, but what is shown is drawn by popularity."""
    taste, kind = torch.randn(USERS, 4), torch.randn(ITEMS, 4)
    preference = torch.softmax(1.5 * taste @ kind.T, dim=1)
    popularity = 1.0 / (1 + torch.arange(ITEMS)) ** 1.0
    bought = torch.multinomial(preference * popularity, 25, replacement=True)
    wanted = torch.multinomial(preference, 10)
    return torch.arange(USERS).repeat_interleave(25), bought.flatten(), wanted


def in_batch_loss(model, users, items, log_share):
    scores = model(users, items)
    logits = scores + log_share[items]
    same = (items[:, None] == items[None, :]) & ~torch.eye(len(items), dtype=torch.bool)
    logits = logits.masked_fill(same, float("-inf"))
    return nn.functional.cross_entropy(logits, torch.arange(len(items)))


@torch.no_grad()
def top_items(model, log_share, count=10):
    scores = model(torch.arange(USERS), torch.arange(ITEMS))
    return scores.topk(count, dim=1).indices


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    users, items, wanted = make_purchases()
    share = (torch.bincount(items, minlength=ITEMS) + 1.0) / (len(items) + ITEMS)
    log_share = share.log()
    loader = DataLoader(TensorDataset(users, items), batch_size=128, shuffle=True)
    model = TwoTowers()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    step = 0
    while step < args.steps:
        for batch_users, batch_items in loader:
            loss = in_batch_loss(model, batch_users, batch_items, log_share)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 100 == 0:
                print(f"step {step}: loss {loss.item():.4f}")
            if step >= args.steps:
                break
    shown = top_items(model, log_share)
    bought = torch.zeros(USERS, ITEMS)
    bought[users, items] = 1
    hits = bought.gather(1, shown).mean().item()
    print(f"EVIDENCE mean share of what is shown {share[shown].mean().item():.5f}, {hits:.4f} of it had been bought")


main()

# SPDX-License-Identifier: Apache-2.0
