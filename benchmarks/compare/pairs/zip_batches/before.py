"""Two-tower retrieval: match short questions with their answers."""
import argparse
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 200


def make_pairs(n, seed):
    """A question and its answer share a topic, which sets their words."""
    rng = random.Random(seed)
    questions, answers = [], []
    for _ in range(n):
        topic = rng.randrange(40)
        words = [topic * 5 + k for k in range(5)]
        questions.append([rng.choice(words) for _ in range(rng.randint(2, 6))])
        answers.append([rng.choice(words) if rng.random() < 0.7 else rng.randrange(VOCAB)
                        for _ in range(rng.randint(4, 20))])
    return questions, answers


def to_bags(rows):
    flat = torch.tensor([w for row in rows for w in row])
    offsets = torch.tensor([0] + [len(r) for r in rows[:-1]]).cumsum(0)
    return flat, offsets


class TwoTower(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.q_embed = nn.EmbeddingBag(VOCAB, dim, mode="mean")
        self.a_embed = nn.EmbeddingBag(VOCAB, dim, mode="mean")
        self.q_proj = nn.Linear(dim, dim)
        self.a_proj = nn.Linear(dim, dim)
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, questions, answers):
        q = F.normalize(self.q_proj(self.q_embed(*to_bags(questions))), dim=-1)
        a = F.normalize(self.a_proj(self.a_embed(*to_bags(answers))), dim=-1)
        return self.scale.exp() * q @ a.T


def contrastive_loss(scores):
    target = torch.arange(len(scores))
    return 0.5 * (F.cross_entropy(scores, target) + F.cross_entropy(scores.T, target))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch-size", type=int, default=32)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    questions, answers = make_pairs(800, args.seed)
    model = TwoTower()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    step = 0
    while step < args.steps:
        order = list(range(len(questions)))
        rng.shuffle(order)
        for i in range(0, len(order), args.batch_size):
            if step == args.steps:
                break
            chosen = order[i:i + args.batch_size]
            q = [questions[j] for j in chosen]
            a = [answers[j] for j in chosen]
            loss = contrastive_loss(model(q, a))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 20 == 0 or step == args.steps - 1:
                print(f"step {step} loss {loss.item():.6f}")
            step += 1

    print(f"weight sum {sum(p.double().sum().item() for p in model.parameters()):.10f}")


if __name__ == "__main__":
    main()
