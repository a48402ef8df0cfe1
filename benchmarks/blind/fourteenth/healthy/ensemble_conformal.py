"""Honest probabilities: an ensemble whose members stop early, a temperature fitted with LBFGS, conformal sets at 90 %."""

import argparse
import copy

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import QuantileTransformer
from torch import nn
from torch.utils.data import DataLoader, RandomSampler, Subset, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=6e-3)
parser.add_argument("--steps", type=int, default=14, help="at most so many epochs for a member")
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
rng = np.random.default_rng(args.seed)

CLASSES, MEMBERS, ALPHA = 6, 4, 0.1


def load():
    x, y = make_classification(
        7000, 24, n_informative=12, n_redundant=4, n_classes=CLASSES, n_clusters_per_class=2, class_sep=1.1, flip_y=0.06, random_state=args.seed
    )
    x[:, :4] = np.exp(x[:, :4])
    rest, test = train_test_split(np.arange(len(y)), test_size=1500, stratify=y, random_state=args.seed)
    train, calib = train_test_split(rest, test_size=1500, stratify=y[rest], random_state=args.seed)
    transform = QuantileTransformer(output_distribution="normal", n_quantiles=200, random_state=0).fit(x[train])
    x = torch.tensor(transform.transform(x), dtype=torch.float32)
    return [TensorDataset(x[rows], torch.tensor(y[rows])) for rows in (train, calib, test)]


class Member(nn.Module):
    def __init__(self, columns, width, dropout, residual):
        super().__init__()
        self.inp = nn.Linear(columns, width)
        self.mid = nn.ModuleList([nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.ReLU(), nn.Dropout(dropout)) for _ in range(2)])
        self.out = nn.Linear(width, CLASSES)
        self.residual = residual

    def forward(self, x):
        x = F.relu(self.inp(x))
        for layer in self.mid:
            x = x + layer(x) if self.residual else layer(x)
        return self.out(x)


@torch.no_grad()
def logits_of(model, data):
    model.eval()
    return torch.cat([model(x) for x, _ in DataLoader(data, batch_size=500)])


def train_member(data, patience=2):
    """A bootstrap draw for the fit, the rows left out of it for the stopping."""
    drawn = rng.integers(0, len(data), len(data))
    left = np.setdiff1d(np.arange(len(data)), drawn)
    own, held = Subset(data, drawn.tolist()), Subset(data, left.tolist())
    model = Member(24, int(rng.choice([48, 64, 96])), float(rng.uniform(0.0, 0.3)), bool(rng.random() < 0.5))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr * float(rng.uniform(0.5, 1.2)))
    loader = DataLoader(own, batch_size=128, sampler=RandomSampler(own, num_samples=len(own) // 2))
    answer = torch.stack([y for _, y in held])
    best, kept, waited = np.inf, None, 0
    for epoch in range(args.steps):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        score = F.cross_entropy(logits_of(model, held), answer).item()
        if score < best:
            best, kept, waited = score, copy.deepcopy(model.state_dict()), 0
        else:
            waited += 1
        if waited > patience:
            break
    model.load_state_dict(kept)
    return model, epoch + 1, best


class Temperature(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_t = nn.Parameter(torch.zeros(()))

    def forward(self, log_p):
        return F.log_softmax(log_p / self.log_t.exp(), dim=1)

    def fit(self, log_p, y):
        optimizer = torch.optim.LBFGS(self.parameters(), lr=0.2, max_iter=40, line_search_fn="strong_wolfe")

        def closure():
            optimizer.zero_grad()
            loss = F.nll_loss(self(log_p), y)
            loss.backward()
            return loss

        optimizer.step(closure)
        return self


def calibration_error(log_p, y, bins=12):
    confidence, guess = log_p.exp().max(1)
    which = torch.bucketize(confidence, torch.linspace(0, 1, bins + 1)[1:-1])
    gap = torch.zeros(bins).index_add_(0, which, confidence - (guess == y).float())
    return gap.abs().sum().item() / len(y)


def scores(log_p, y, noise):
    """Adaptive sets: probability of the classes that are more likely than the answer, with a random part of its own."""
    p, order = log_p.exp().sort(1, descending=True)
    before = p.cumsum(1) - p
    full = torch.empty_like(p).scatter_(1, order, before + noise[:, None] * p)
    return full if y is None else full.gather(1, y[:, None]).squeeze(1)


train, calib, test = load()
members = []
while len(members) < MEMBERS:
    model, epochs, best = train_member(train)
    kept = best < 1.25 * min([b for _, b in members], default=np.inf)
    print(f"member of width {model.inp.out_features}: {epochs} epochs, held-out loss {best:.4f}" + ("" if kept else ", drawn anew"))
    if kept:
        members.append((model, best))
weight = torch.softmax(-torch.tensor([best for _, best in members]) / 0.05, 0)


def ensemble(data):
    stacked = torch.stack([F.log_softmax(logits_of(model, data), 1) for model, _ in members])
    return (stacked + weight.log()[:, None, None]).logsumexp(0)


calib_y, test_y = calib.tensors[1], test.tensors[1]
half = len(calib_y) // 2
calib_p, test_p = ensemble(calib), ensemble(test)
temperature = Temperature().fit(calib_p[:half], calib_y[:half])
with torch.no_grad():
    held, final = temperature(calib_p[half:]), temperature(test_p)
level = np.ceil((len(held) + 1) * (1 - ALPHA)) / len(held)
cut = torch.quantile(scores(held, calib_y[half:], torch.rand(len(held))), float(level))
sets = scores(final, None, torch.rand(len(final))) <= cut
print(f"temperature {temperature.log_t.exp():.3f}, error of calibration {calibration_error(test_p, test_y):.4f} -> {calibration_error(final, test_y):.4f}")
print(f"test accuracy {(final.argmax(1) == test_y).float().mean():.3f}, nll {F.nll_loss(final, test_y):.4f}, covered {sets[torch.arange(len(test_y)), test_y].float().mean():.3f}, size {sets.sum(1).float().mean():.2f}")
