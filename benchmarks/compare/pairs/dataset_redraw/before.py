"""Variational autoencoder on drawn pictures of rings."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SIDE = 12


class RingDataset(Dataset):
    """Pictures of one ring each, at a random place and with a random radius."""

    def __init__(self, size, seed):
        generator = torch.Generator().manual_seed(seed)
        grid = torch.arange(SIDE, dtype=torch.float32)
        self.images = []
        for _ in range(size):
            cx = 3 + 6 * torch.rand((), generator=generator)
            cy = 3 + 6 * torch.rand((), generator=generator)
            radius = 1.5 + 2 * torch.rand((), generator=generator)
            distance = ((grid[:, None] - cy) ** 2 + (grid[None, :] - cx) ** 2).sqrt()
            self.images.append(torch.exp(-((distance - radius) ** 2)).flatten())

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i]


class VAE(nn.Module):
    def __init__(self, latent=4, hidden=96):
        super().__init__()
        self.latent = latent
        self.encoder = nn.Sequential(nn.Linear(SIDE * SIDE, hidden), nn.ReLU(), nn.Linear(hidden, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, SIDE * SIDE))

    def forward(self, x):
        mean, logvar = self.encoder(x).chunk(2, dim=1)
        z = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        return self.decoder(z), mean, logvar


def vae_loss(logits, x, mean, logvar):
    reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1).mean()
    kl = -0.5 * (1 + logvar - mean ** 2 - logvar.exp()).sum(1).mean()
    return reconstruction + kl


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    dataset = RingDataset(1200, args.seed)
    loader = DataLoader(dataset, batch_size=64, shuffle=True,
                        generator=torch.Generator().manual_seed(args.seed))
    model = VAE()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)

    step = 0
    while step < args.steps:
        for x in loader:
            if step == args.steps:
                break
            logits, mean, logvar = model(x)
            loss = vae_loss(logits, x, mean, logvar)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 30 == 0 or step == args.steps - 1:
                print(f"step {step} elbo {-loss.item():.5f} loss {loss.item():.5f}")
            step += 1
    print(f"weight sum {sum(p.double().sum().item() for p in model.parameters()):.10f}")


if __name__ == "__main__":
    main()
