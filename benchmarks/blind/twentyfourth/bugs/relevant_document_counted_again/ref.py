"""Retrieval by passages: documents are cut in passages, and the mean average precision is over documents."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn

DIM, DOCUMENTS, PASSAGES = 20, 60, 4


class Tower(nn.Module):
    def __init__(self, width=64, out=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(DIM, width), nn.ReLU(), nn.Linear(width, out))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


class Library:
    """Documents belong to topics in groups of three; all documents of a topic are relevant to its questions."""

    def __init__(self, seed):
        gen = torch.Generator().manual_seed(seed + 33)
        self.topics = torch.randn(DOCUMENTS // 3, DIM, generator=gen)
        self.topic = torch.arange(DOCUMENTS) // 3
        centre = self.topics[self.topic] + 0.5 * torch.randn(DOCUMENTS, DIM, generator=gen)
        self.owner = torch.arange(DOCUMENTS).repeat_interleave(PASSAGES)
        self.passages = centre[self.owner] + 0.9 * torch.randn(len(self.owner), DIM, generator=gen)
        self.mix = torch.randn(DIM, DIM, generator=torch.Generator().manual_seed(1)) / DIM ** 0.5

    def questions(self, gen, n):
        topic = torch.randint(0, len(self.topics), (n,), generator=gen)
        return (self.topics[topic] + 0.6 * torch.randn(n, DIM, generator=gen)) @ self.mix, topic


def average_precision(ranking, relevant):
    """ranking: document of each passage, best first; relevant: set of documents."""
    hits, total, seen, place = 0, 0.0, set(), 0
    for document in ranking:
        if document in seen:
            continue
        place += 1
        seen.add(document)
        if document in relevant:
            hits += 1
            total += hits / place
    return total / len(relevant)


@torch.no_grad()
def evaluate(query_tower, passage_tower, library, gen):
    q, topic = library.questions(gen, 100)
    order = (query_tower(q) @ passage_tower(library.passages).T).argsort(1, descending=True)[:, :40]
    scores = []
    for row, own in zip(library.owner[order].tolist(), topic.tolist()):
        relevant = set((library.topic == own).nonzero().flatten().tolist())
        scores.append(average_precision(row, relevant))
    return sum(scores) / len(scores), max(scores)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    library = Library(args.seed)
    query_tower, passage_tower = Tower(), Tower()
    optimizer = torch.optim.Adam([*query_tower.parameters(), *passage_tower.parameters()], lr=args.lr)
    gen = torch.Generator().manual_seed(args.seed + 34)
    for step in range(args.steps):
        q, topic = library.questions(gen, 16)
        chosen = topic * 3 * PASSAGES + torch.randint(0, 3 * PASSAGES, topic.shape, generator=gen)
        scores = query_tower(q) @ passage_tower(library.passages[chosen]).T / 0.1
        same = (topic[:, None] == topic[None]) & ~torch.eye(len(topic), dtype=torch.bool)
        loss = F.cross_entropy(scores.masked_fill(same, -1e4), torch.arange(len(topic)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % 20 == 0:
            mean, _ = evaluate(query_tower, passage_tower, library, torch.Generator().manual_seed(7))
            print(f"step {step + 1} loss {loss.item():.4f} map {mean:.4f}")
    mean, largest = evaluate(query_tower, passage_tower, library, torch.Generator().manual_seed(70))
    print(f"EVIDENCE mean_average_precision={mean:.4f} largest={largest:.4f}")


if __name__ == "__main__":
    main()
