"""A sparse autoencoder on activations of a toy network, with an auxiliary loss that wakes latents which never fire."""
import argparse

import torch
import torch.nn as nn

INPUTS, LATENTS, ACTIVE, AUX = 24, 96, 4, 4


class Activations:
    """Sums of a few of sixty directions, some of them rare."""

    def __init__(self, seed):
        fixed = torch.Generator().manual_seed(12)
        self.directions = nn.functional.normalize(torch.randn(60, INPUTS, generator=fixed), dim=1)
        self.chance = 0.12 * torch.linspace(1.0, 0.1, 60)
        self.gen = torch.Generator().manual_seed(seed)

    def batch(self, size):
        on = torch.rand(size, 60, generator=self.gen) < self.chance
        strength = on * (0.5 + torch.rand(size, 60, generator=self.gen))
        return strength @ self.directions + 0.02 * torch.randn(size, INPUTS, generator=self.gen)


class TopKAutoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(INPUTS))
        self.encoder = nn.Linear(INPUTS, LATENTS)
        self.decoder = nn.Linear(LATENTS, INPUTS, bias=False)
        self.encoder.bias.data[LATENTS // 3:] = -0.6
        self.decoder.weight.data = self.encoder.weight.data.T.clone()
        self.register_buffer("silent_for", torch.zeros(LATENTS))

    def forward(self, x):
        before = torch.relu(self.encoder(x - self.bias))
        top = before.topk(ACTIVE, dim=1)
        codes = torch.zeros_like(before).scatter(1, top.indices, top.values)
        if self.training:
            fired = (codes > 0).any(0)
            self.silent_for = torch.where(fired, 0.0, self.silent_for + 1)
        return codes, self.decoder(codes) + self.bias

    def auxiliary(self, x, residual):
        """The silent latents try to explain what is left over."""
        silent = self.silent_for > 10
        if not silent.any():
            return residual.new_zeros(())
        scores = self.encoder(x - self.bias).masked_fill(~silent, float("-inf"))
        top = scores.topk(min(AUX, int(silent.sum())), dim=1)
        codes = torch.zeros_like(scores).scatter(1, top.indices, top.values)
        return (self.decoder(codes) - residual).pow(2).sum(1).mean()


def loss_of(model, x, weight):
    """What is optimised, and its two parts for the log."""
    codes, rebuilt = model(x)
    reconstruction = (rebuilt - x).pow(2).sum(1).mean()
    residual = (x - rebuilt).detach()
    auxiliary = model.auxiliary(x, residual)
    loss = reconstruction + weight * auxiliary
    return loss, {"reconstruction": reconstruction.item(), "auxiliary": auxiliary.item()}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--steps", type=int, default=400)
    ap.add_argument("--aux-weight", type=float, default=0.5)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    source, model = Activations(args.seed), TopKAutoencoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        loss, parts = loss_of(model, source.batch(128), args.aux_weight)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            model.decoder.weight.div_(model.decoder.weight.norm(dim=0, keepdim=True))
        if step % 100 == 99:
            print(f"step {step + 1} " + " ".join(f"{k} {v:.4f}" for k, v in parts.items()))
    model.eval()
    x = Activations(600).batch(2000)
    with torch.no_grad():
        codes, rebuilt = model(x)
    alive = (codes > 0).any(0).sum().item()
    unexplained = ((rebuilt - x).pow(2).sum() / (x - x.mean(0)).pow(2).sum()).item()
    print(f"EVIDENCE alive={alive} of {LATENTS} unexplained={unexplained:.4f} auxiliary={parts['auxiliary']:.4f}")


if __name__ == "__main__":
    main()
