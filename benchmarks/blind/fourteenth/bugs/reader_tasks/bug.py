"""Four questions about a product review at once: each task reads the shared encoder at the depth that suits it."""

import argparse

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=4e-3)
parser.add_argument("--steps", type=int, default=9, help="epochs")
args = parser.parse_args()

torch.manual_seed(args.seed)
torch.set_num_threads(1)

WORDS, LENGTH = 120, 20
# task: block it reads from
TASKS = {"mentions_price": 0, "complains": 1, "asks_refund": 2, "urgent": 2}
PRICE, GOOD, BAD, NOT, REFUND, NOW = range(2, 8), range(8, 20), range(20, 32), 32, range(33, 37), range(37, 41)


class Reviews(Dataset):
    """Word codes, and one yes/no answer to each task (some of them depend on a negation or on the order)."""

    def __init__(self, n, rng):
        self.ids = rng.integers(41, WORDS, (n, LENGTH))
        answers = np.zeros((n, len(TASKS)), dtype=np.float32)
        for row, ids in enumerate(self.ids):
            spots = rng.permutation(LENGTH - 1)[:5]
            if rng.random() < 0.4:
                ids[spots[0]] = rng.choice(PRICE)
                answers[row, 0] = 1
            bad = rng.random() < 0.5
            ids[spots[1]] = rng.choice(BAD if bad else GOOD)
            if rng.random() < 0.4:
                ids[spots[1] + 1] = ids[spots[1]]
                ids[spots[1]] = NOT
                bad = not bad
            answers[row, 1] = bad
            if rng.random() < 0.45:
                ids[spots[2]] = rng.choice(REFUND)
                answers[row, 2] = 1
            if rng.random() < 0.55:
                ids[spots[3]] = rng.choice(NOW)
                answers[row, 3] = float(spots[3] < LENGTH // 2)
        self.ids = torch.as_tensor(self.ids)
        self.answers = torch.as_tensor(answers)

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, row):
        return self.ids[row], dict(zip(TASKS, self.answers[row]))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Conv1d(width, width, 3, padding=1)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(x + F.gelu(self.mix(x.transpose(1, 2)).transpose(1, 2)))


class MultiReader(nn.Module):
    def __init__(self, tasks, width=32, blocks=3):
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.places = nn.Parameter(0.1 * torch.randn(LENGTH, width))
        self.blocks = nn.ModuleList([Block(width) for _ in range(blocks)])
        self.heads = nn.ModuleDict({task: nn.Linear(width, 1) for task in tasks})
        self.readers = {}
        for task, depth in tasks.items():
            self.readers[task] = lambda states: self.heads[task](states[depth]).squeeze(1)

    def forward(self, ids):
        x, states = self.words(ids) + self.places, []
        for block in self.blocks:
            x = block(x)
            states.append(x.amax(1))
        return {task: read(states) for task, read in self.readers.items()}


def task_losses(logits, answers):
    return {task: F.binary_cross_entropy_with_logits(logits[task], answers[task]) for task in logits}


@torch.no_grad()
def accuracies(model, loader):
    model.eval()
    hits, seen = dict.fromkeys(TASKS, 0), 0
    for ids, answers in loader:
        for task, logit in model(ids).items():
            hits[task] += ((logit > 0).float() == answers[task]).sum().item()
        seen += len(ids)
    return {task: hit / seen for task, hit in hits.items()}


rng = np.random.default_rng(args.seed)
train_loader = DataLoader(Reviews(2800, rng), batch_size=64, shuffle=True)
valid_loader = DataLoader(Reviews(1000, rng), batch_size=500)
model = MultiReader(TASKS)
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-2)
weights = {"mentions_price": 1.0, "complains": 1.0, "asks_refund": 1.0, "urgent": 0.8}

for epoch in range(args.steps):
    model.train()
    running = dict.fromkeys(TASKS, 0.0)
    for ids, answers in train_loader:
        losses = task_losses(model(ids), answers)
        loss = sum(weights[task] * value for task, value in losses.items())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for task, value in losses.items():
            running[task] += value.item() / len(train_loader)
    scores = accuracies(model, valid_loader)
    if epoch % 3 == 2 or epoch == args.steps - 1:
        print(f"epoch {epoch + 1}: loss {sum(running.values()):.3f} " + " ".join(f"{t} {s:.3f}" for t, s in scores.items()))
print("EVIDENCE accuracy " + ", ".join(f"{t} {s:.3f}" for t, s in scores.items()) + f", mean {np.mean(list(scores.values())):.3f}")
