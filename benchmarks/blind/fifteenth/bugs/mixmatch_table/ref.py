"""MixMatch on a table of spectra: 60 labelled rows, 3000 without a label."""
import argparse
import itertools

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def spectra(n, rng, classes=6, length=48):
    """Each substance has two peaks; position, height and background vary from row to row."""
    label = rng.integers(0, classes, n)
    axis = np.arange(length)
    first, second = 8 + 3 * (label % 3), 26 + 5 * (label // 3)
    rows = np.zeros((n, length))
    for centre, width in ((first, 2.0), (second, 3.0)):
        where = centre + rng.normal(0, 0.8, n)
        height = rng.uniform(0.5, 1.5, n)
        rows += height[:, None] * np.exp(-((axis - where[:, None]) ** 2) / (2 * width**2))
    rows += rng.normal(0, 0.3, (n, 1)) + rng.normal(0, 0.02, (n, 1)) * axis + rng.normal(0, 0.25, (n, length))
    return torch.tensor(rows, dtype=torch.float32), torch.tensor(label)


def augment(x):
    shift = int(torch.randint(-1, 2, (1,)))
    x = torch.roll(x, shift, dims=1)
    return x * (1 + 0.1 * torch.randn(len(x), 1)) + 0.1 * torch.randn_like(x)


class SpectraNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2),
                                  nn.Conv1d(16, 32, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2))
        self.fc = nn.Sequential(nn.Flatten(), nn.Linear(32 * 12, 64), nn.ReLU(), nn.Linear(64, classes))

    def forward(self, x):
        return self.fc(self.conv(x.unsqueeze(1)))


class MixMatch:
    def __init__(self, model, classes, T=0.5, alpha=0.75, k=2, lambda_u=20.0, ramp=200):
        self.model, self.classes = model, classes
        self.T, self.alpha, self.k, self.lambda_u, self.ramp = T, alpha, k, lambda_u, ramp

    @torch.no_grad()
    def guess_labels(self, views):
        p = sum(torch.softmax(self.model(v), dim=1) for v in views) / len(views)
        pt = p ** (1 / self.T)
        return pt / pt.sum(dim=1, keepdim=True)

    def mixup(self, x, y):
        share = np.random.beta(self.alpha, self.alpha)
        share = max(share, 1 - share)
        order = torch.randperm(len(x))
        return share * x + (1 - share) * x[order], share * y + (1 - share) * y[order]

    def loss(self, x_l, y_l, x_u, step):
        views = [augment(x_u) for _ in range(self.k)]
        guessed = self.guess_labels(views)
        x = torch.cat([augment(x_l)] + views)
        y = torch.cat([F.one_hot(y_l, self.classes).float()] + [guessed] * self.k)
        mixed_x, mixed_y = self.mixup(x, y)
        logits = self.model(mixed_x)
        n = len(x_l)
        supervised = -(mixed_y[:n] * logits[:n].log_softmax(1)).sum(1).mean()
        consistency = ((logits[n:].softmax(1) - mixed_y[n:]) ** 2).mean()
        weight = self.lambda_u * min(1.0, step / self.ramp)
        return supervised + weight * consistency, supervised.item(), consistency.item()


def loader(*tensors, size):
    data = torch.utils.data.TensorDataset(*tensors)
    return torch.utils.data.DataLoader(data, batch_size=size, shuffle=True, drop_last=True)


def forever(dl):
    return itertools.chain.from_iterable(itertools.repeat(dl))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--steps", type=int, default=500)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    np.random.seed(args.seed)
    rng = np.random.default_rng(args.seed)

    x_l, y_l = spectra(60, rng)
    x_u, _ = spectra(3000, rng)
    x_t, y_t = spectra(2000, rng)
    model = SpectraNet(6)
    algorithm = MixMatch(model, 6)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    labelled, unlabelled = forever(loader(x_l, y_l, size=20)), forever(loader(x_u, size=60))
    for step, (a, b) in enumerate(zip(labelled, unlabelled)):
        if step >= args.steps:
            break
        loss, supervised, consistency = algorithm.loss(*a, *b, step)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step} supervised {supervised:.3f} consistency {consistency:.4f}")

    model.eval()
    with torch.no_grad():
        p_u, p_t = model(x_u).softmax(1), model(x_t).softmax(1)
    entropy = -(p_u * p_u.clamp_min(1e-9).log()).sum(1).mean()
    accuracy = (p_t.argmax(1) == y_t).float().mean()
    nll = F.nll_loss(p_t.clamp_min(1e-9).log(), y_t)
    print(f"EVIDENCE accuracy {accuracy:.3f} test nll {nll:.3f} entropy of unlabelled rows {entropy:.3f} "
          f"of them sure beyond 0.9: {(p_u.max(1).values > 0.9).float().mean():.3f}")


if __name__ == "__main__":
    main()
