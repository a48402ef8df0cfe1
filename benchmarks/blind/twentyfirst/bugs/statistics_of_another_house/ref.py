"""Calls of birds from spectra: a pre-trained front end, inputs in its units, and mixup on one batch in five."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

SPECIES, BINS = 8, 40
PRETRAIN_MEAN, PRETRAIN_STD = -4.0, 2.5
HOUSE_MEAN, HOUSE_STD = -1.5, 1.2


def calls(n, gen, seed=41):
    profile = torch.randn(SPECIES, BINS, generator=torch.Generator().manual_seed(seed)) * 2.0
    species = torch.randint(0, SPECIES, (n,), generator=gen)
    loudness = 0.5 * torch.randn(n, 1, generator=gen)
    return -4.0 + profile[species] + loudness + 2.0 * torch.randn(n, BINS, generator=gen), species


def normalise(spectra):
    return (spectra - PRETRAIN_MEAN) / PRETRAIN_STD


class Mixup:
    def __init__(self, probability, alpha, gen):
        self.probability, self.gen = probability, gen
        self.beta = torch.distributions.Beta(alpha, alpha)
        self.used = self.asked = 0

    def __call__(self, x, y):
        self.asked += 1
        target = F.one_hot(y, SPECIES).float()
        if torch.rand(1, generator=self.gen).item() >= self.probability:
            return x, target
        self.used += 1
        share = self.beta.sample()
        order = torch.randperm(len(x), generator=self.gen)
        return share * x + (1 - share) * x[order], share * target + (1 - share) * target[order]


class CallNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Sequential(nn.Linear(BINS, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.species = nn.Linear(64, SPECIES)

    def forward(self, x):
        return self.species(self.front(x))


def pretrain(net, gen, steps):
    """Calls of other birds; the front end is frozen from then on."""
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for _ in range(steps):
        spectra, other = calls(64, gen, seed=42)
        loss = F.cross_entropy(net((spectra - PRETRAIN_MEAN) / PRETRAIN_STD), other)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    net.front.requires_grad_(False)
    net.species.reset_parameters()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=300)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    net = CallNet()
    pretrain(net, gen, args.steps)
    mixup = Mixup(0.2, 0.4, gen)
    optimizer = torch.optim.AdamW(net.species.parameters(), lr=args.lr)
    mean_in = 0.0
    for step in range(args.steps):
        spectra, species = calls(64, gen)
        x, target = mixup(normalise(spectra), species)
        mean_in += x.mean().item() / args.steps
        loss = F.cross_entropy(net(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 75 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    with torch.no_grad():
        spectra, species = calls(1024, gen)
        right = (net((spectra - PRETRAIN_MEAN) / PRETRAIN_STD).argmax(1) == species).float().mean().item()
    print(f"EVIDENCE mixed={mixup.used / mixup.asked:.3f} mean_of_inputs={mean_in:.3f} accuracy={right:.3f}")


if __name__ == "__main__":
    main()
