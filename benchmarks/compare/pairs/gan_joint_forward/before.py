"""Class-conditional hinge GAN on the 8x8 digits, separate learning rates for generator and discriminator."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression


class Generator(nn.Module):
    def __init__(self, latent=16, hidden=128, classes=10):
        super().__init__()
        self.latent = latent
        self.embed = nn.Embedding(classes, latent)
        self.net = nn.Sequential(
            nn.Linear(2 * latent, hidden), nn.LayerNorm(hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.LayerNorm(hidden), nn.ReLU(),
            nn.Linear(hidden, 64), nn.Tanh(),
        )

    def forward(self, z, y):
        return self.net(torch.cat([z, self.embed(y)], dim=1))


class Discriminator(nn.Module):
    """Projection discriminator."""

    def __init__(self, hidden=128, classes=10):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(64, hidden), nn.LeakyReLU(0.2),
            nn.Linear(hidden, hidden), nn.LeakyReLU(0.2),
        )
        self.score = nn.Linear(hidden, 1)
        self.embed = nn.Embedding(classes, hidden)

    def forward(self, x, y):
        h = self.net(x)
        return self.score(h).squeeze(1) + (h * self.embed(y)).sum(1) / h.shape[1] ** 0.5


def discriminator_step(gen, disc, optimizer, real, labels):
    z = torch.randn(len(real), gen.latent)
    fake = gen(z, labels).detach()
    real_scores = disc(real, labels)
    fake_scores = disc(fake, labels)
    loss = F.relu(1.0 - real_scores).mean() + F.relu(1.0 + fake_scores).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def generator_step(gen, disc, optimizer, batch_size):
    labels = torch.randint(0, 10, (batch_size,))
    z = torch.randn(batch_size, gen.latent)
    loss = -disc(gen(z, labels), labels).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


@torch.no_grad()
def sample(gen, per_class):
    labels = torch.arange(10).repeat_interleave(per_class)
    return gen(torch.randn(len(labels), gen.latent), labels), labels


def quality(gen, judge, real_mean):
    images, labels = sample(gen, 40)
    acc = judge.score(images.numpy(), labels.numpy())
    gap = np.abs(images.numpy().mean(0) - real_mean).mean()
    return acc, gap


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--disc-steps", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=128)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    digits = load_digits()
    pixels = (digits.data / 8.0 - 1.0).astype("float32")
    judge = LogisticRegression(max_iter=300).fit(pixels, digits.target)
    x, y = torch.from_numpy(pixels), torch.from_numpy(digits.target)

    gen, disc = Generator(), Discriminator()
    opt_g = torch.optim.Adam(gen.parameters(), lr=args.lr, betas=(0.0, 0.9))
    opt_d = torch.optim.Adam(disc.parameters(), lr=2 * args.lr, betas=(0.0, 0.9))

    for step in range(args.steps):
        for _ in range(args.disc_steps):
            idx = torch.randint(0, len(x), (args.batch_size,))
            d_loss = discriminator_step(gen, disc, opt_d, x[idx], y[idx])
        g_loss = generator_step(gen, disc, opt_g, args.batch_size)
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step:4d} D {d_loss:.4f} G {g_loss:.4f}")

    acc, gap = quality(gen, judge, pixels.mean(0))
    print(f"EVIDENCE judged_accuracy={acc:.4f} mean_gap={gap:.4f}")


if __name__ == "__main__":
    main()
