"""LambdaRank for search results. There is no loss: the scores get their gradient by hand."""
import argparse
import copy

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--steps", type=int, default=500, help="steps at most")
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

FEATURES = 16
hidden_taste = torch.randn(FEATURES)
pair_taste = torch.randn(FEATURES, FEATURES) / 4


def make_queries(count):
    """Lists of three to thirty documents with grades 0 to 3; in some lists nothing is relevant."""
    queries = []
    for _ in range(count):
        n = int(torch.randint(3, 31, (1,)))
        docs = torch.randn(n, FEATURES) + 0.5 * torch.randn(FEATURES)
        value = docs @ hidden_taste / 4 + (docs @ pair_taste * docs).sum(1) / 4 + 0.3 * torch.randn(n)
        queries.append((docs, torch.bucketize(value, torch.tensor([0.8, 1.6, 2.4])).float()))
    return queries


def dcg_discount(n):
    return 1 / torch.log2(torch.arange(n) + 2.0)


def ndcg(scores, grades, k=10):
    gains = 2**grades - 1
    order = scores.argsort(descending=True)[:k]
    ideal = gains.sort(descending=True).values[:k]
    discount = dcg_discount(len(ideal))
    return ((gains[order] * discount).sum() / (ideal * discount).sum()).item()


def lambdas(scores, grades):
    """The gradient of each score, or None where no pair has an order."""
    gains = 2**grades - 1
    ideal = (gains.sort(descending=True).values * dcg_discount(len(gains))).sum()
    if ideal == 0:
        return None
    better = grades[:, None] > grades[None, :]
    if not better.any():
        return None
    rank = scores.argsort(descending=True).argsort()
    discount = dcg_discount(len(scores))[rank]
    swap = ((gains[:, None] - gains[None, :]) * (discount[:, None] - discount[None, :])).abs() / ideal
    push = torch.sigmoid(scores[None, :] - scores[:, None]) * swap * better
    return -push.sum(1) + push.sum(0)


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(FEATURES, 64), nn.SiLU(), nn.Dropout(0.1), nn.Linear(64, 64), nn.SiLU(),
                                 nn.Linear(64, 1))

    def forward(self, docs):
        return self.net(docs).squeeze(-1)


train, valid, test = make_queries(400), make_queries(80), make_queries(150)
ranker = Ranker()
optimizer = torch.optim.AdamW(ranker.parameters(), lr=args.lr, weight_decay=0.01)
best, best_state, patience, skipped = -1.0, None, 6, 0


def mean_ndcg(queries):
    ranker.eval()
    with torch.inference_mode():
        values = [ndcg(ranker(d), g) for d, g in queries if g.max() > 0]
    ranker.train()
    return sum(values) / len(values)


step, size = 0, 4
while step < args.steps and patience:
    optimizer.zero_grad()
    pushed = 0
    for q in torch.randint(0, len(train), (size,)).tolist():
        docs, grades = train[q]
        scores = ranker(docs)
        gradient = lambdas(scores.detach(), grades)
        if gradient is None:
            skipped += 1
            continue
        scores.backward(gradient / size)
        pushed += 1
    if pushed == 0:
        continue
    optimizer.step()
    step += 1
    if step % 30 == 0:
        value = mean_ndcg(valid)
        if value > best + 1e-4:
            best, best_state, patience = value, copy.deepcopy(ranker.state_dict()), 6
        else:
            patience -= 1
            size = min(size * 2, 16)  # more lists for each step where progress is slow
        print(f"step {step} NDCG@10 {value:.4f} lists for each step {size}")

if best_state is not None:
    ranker.load_state_dict(best_state)
print(f"EVIDENCE test NDCG@10 {mean_ndcg(test):.4f} after {step} steps, lists left out {skipped}")
