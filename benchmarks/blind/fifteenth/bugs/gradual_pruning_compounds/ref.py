"""Gradual magnitude pruning (AGP schedule) of a keyword spotter on synthetic filter-bank frames."""
import argparse

import torch
import torch.nn.functional as F
import torch.nn.utils.prune as prune
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def get_args():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=1200)
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--sparsity", type=float, default=0.75)
    ap.add_argument("--batch-size", type=int, default=64)
    return ap.parse_args()


def make_keywords(n, gen, templates):
    """Each keyword is a trajectory of band energies; utterances are shifted, scaled and noisy."""
    label = torch.randint(0, len(templates), (n,), generator=gen)
    wave = templates[label].clone()
    shift = torch.randint(-2, 3, (n,), generator=gen)
    wave = torch.stack([torch.roll(w, int(s), dims=1) for w, s in zip(wave, shift)])
    wave = wave * (0.6 + 0.8 * torch.rand(n, 1, 1, generator=gen))
    return wave + 0.9 * torch.randn(wave.shape, generator=gen), label


class Spotter(nn.Module):
    def __init__(self, bands=12, frames=16, classes=10, width=96):
        super().__init__()
        self.front = nn.Conv1d(bands, 32, 3, padding=1)
        self.body = nn.Linear(32 * frames, width)
        self.top = nn.Linear(width, width)
        self.out = nn.Linear(width, classes)

    def forward(self, x):
        h = F.relu(self.front(x)).flatten(1)
        h = F.relu(self.body(h))
        h = F.relu(self.top(h))
        return self.out(h)

    def prunable(self):
        return [("front", self.front), ("body", self.body), ("top", self.top)]


class GradualPruner:
    """Cubic schedule of Zhu & Gupta: most weights go early, the last few slowly."""

    def __init__(self, layers, final, rounds):
        self.layers, self.final, self.rounds = layers, final, rounds
        self.done = 0.0

    def target(self, round_no):
        left = 1.0 - round_no / self.rounds
        return self.final * (1.0 - left**3)

    def step(self, round_no):
        target = self.target(round_no)
        # torch counts `amount` among the weights that are still there
        amount = (target - self.done) / (1.0 - self.done)
        for _, layer in self.layers:
            prune.l1_unstructured(layer, "weight", amount=amount)
        self.done = target
        return target

    def finish(self):
        for _, layer in self.layers:
            prune.remove(layer, "weight")

    def density(self):
        kept = sum(int((layer.weight != 0).sum()) for _, layer in self.layers)
        return kept / sum(layer.weight.numel() for _, layer in self.layers)


def fit(model, loader, opt, steps):
    model.train()
    done, total = 0, 0.0
    while done < steps:
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
            done += 1
            if done == steps:
                break
    return total / max(done, 1)


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 1)
    templates = F.avg_pool1d(torch.randn(10, 12, 16, generator=gen), 3, 1, 1) * 0.8
    train = TensorDataset(*make_keywords(3000, gen, templates))
    x_test, y_test = make_keywords(2000, gen, templates)
    loader = DataLoader(train, batch_size=args.batch_size, shuffle=True)

    model = Spotter()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    dense_steps = args.steps // 3
    loss = fit(model, loader, opt, dense_steps)
    dense = accuracy(model, x_test, y_test)
    print(f"dense    loss {loss:.3f}  accuracy {dense:.3f}")

    pruner = GradualPruner(model.prunable(), args.sparsity, args.rounds)
    per_round = (args.steps - dense_steps) // args.rounds
    for round_no in range(1, args.rounds + 1):
        target = pruner.step(round_no)
        loss = fit(model, loader, opt, per_round)
        print(f"round {round_no}  target {target:.2f}  loss {loss:.3f}  accuracy {accuracy(model, x_test, y_test):.3f}")
    pruner.finish()
    final = accuracy(model, x_test, y_test)
    print(f"EVIDENCE density {pruner.density():.4f} wanted {1 - args.sparsity:.4f} dense accuracy {dense:.3f} pruned accuracy {final:.3f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
