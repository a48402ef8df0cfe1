"""Autoencoder with batch norm and dropout on sklearn's digits."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


def load_images():
    images = load_digits().images.astype(np.float32) / 16.0
    x = torch.from_numpy(images).unsqueeze(1)
    return x[:1500], x[1500:]


class Encoder(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Dropout(0.2))
        self.out = nn.Linear(16 * 2 * 2, latent)

    def forward(self, x):
        return self.out(self.features(x).flatten(1))


class Decoder(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(latent, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 64))

    def forward(self, z):
        return torch.sigmoid(self.net(z)).view(-1, 1, 8, 8)


class AutoEncoder(nn.Module):
    def __init__(self, latent=8):
        super().__init__()
        self.encoder = Encoder(latent)
        self.decoder = Decoder(latent)

    def forward(self, x):
        return self.decoder(self.encoder(x))


def check_shapes(model, x):
    """One pass without gradients to see that the shapes fit."""
    with torch.no_grad():
        out = model(x)
    if out.shape != x.shape:
        raise ValueError(f"wrong output shape {tuple(out.shape)}")
    print("output shape", tuple(out.shape))


def evaluate(model, x):
    model.eval()
    with torch.no_grad():
        loss = F.mse_loss(model(x), x).item()
    model.train()
    return loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--batch-size", type=int, default=64)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    train, test = load_images()
    model = AutoEncoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    check_shapes(model, train[:args.batch_size])

    for step in range(args.steps):
        batch = train[rng.choice(len(train), args.batch_size, replace=False)]
        noisy = batch + 0.1 * torch.randn_like(batch)
        loss = F.mse_loss(model(noisy), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0 or step == args.steps - 1:
            print(f"step {step} loss {loss.item():.6f}")

    print(f"test loss {evaluate(model, test):.6f}")
    print(f"weight sum {sum(p.double().sum().item() for p in model.parameters()):.10f}")


if __name__ == "__main__":
    main()
