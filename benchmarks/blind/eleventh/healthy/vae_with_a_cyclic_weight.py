"""A VAE on digits: the weight of the divergence goes in cycles, the threshold of pictures is noisy, samples are looked at between epochs."""
import argparse

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class VAE(nn.Module):
    def __init__(self, latent=6):
        super().__init__()
        self.latent = latent
        self.encoder = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 48), nn.ReLU())
        self.mean, self.logvar = nn.Linear(48, latent), nn.Linear(48, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 48), nn.ReLU(), nn.Linear(48, 96), nn.ReLU(), nn.Linear(96, 64))

    def forward(self, x):
        h = self.encoder(x)
        mean, logvar = self.mean(h), self.logvar(h).clamp(-8, 8)
        z = mean + torch.exp(0.5 * logvar) * torch.randn_like(mean) if self.training else mean
        return self.decoder(z), mean, logvar


def elbo_terms(logits, x, mean, logvar):
    reconstruction = nn.functional.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1).mean()
    divergence = -0.5 * (1 + logvar - mean.pow(2) - logvar.exp()).sum(1).mean()
    return reconstruction, divergence


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=500)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, _ = load_digits(return_X_y=True)
    x = torch.tensor(x, dtype=torch.float32)[torch.randperm(len(x))] / 16
    loader = DataLoader(TensorDataset(x[:1400]), batch_size=70, shuffle=True)
    held_out = (x[1400:] > 0.5).float()
    model = VAE()
    optimizer = torch.optim.Adamax(model.parameters(), lr=args.lr)
    cycle = max(4, args.steps // 4)
    step = epoch = 0
    while step < args.steps:
        model.train()
        for (batch,) in loader:
            beta = min(1.0, 2 * (step % cycle) / cycle)
            binary = (batch + 0.15 * torch.randn_like(batch) > 0.5).float()
            reconstruction, divergence = elbo_terms(*(lambda o: (o[0], binary, o[1], o[2]))(model(binary)))
            loss = reconstruction + 0.5 * beta * divergence
            optimizer.zero_grad()
            loss.backward()
            if step > 10:
                nn.utils.clip_grad_norm_(model.parameters(), 50.0)
            optimizer.step()
            step += 1
            if step >= args.steps:
                break
        epoch += 1
        if epoch % 5 == 0:
            model.eval()
            with torch.no_grad():
                logits, mean, logvar = model(held_out)
                r, d = elbo_terms(logits, held_out, mean, logvar)
                ink = model.decoder(torch.randn(64, model.latent)).sigmoid().mean().item()
                active = (mean.var(0) > 0.05).sum().item()
            print(f"epoch {epoch}: beta {beta:.2f}, train {loss.item():.3f}, held out {r.item():.3f} + {d.item():.3f}, ink {ink:.3f}, active {active}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
