"""A GAN on digits: two optimizers, the generator's turn after the discriminator's."""

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from options import options


class Generator(nn.Module):
    def __init__(self, latent, width):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(latent, width), nn.LeakyReLU(0.2),
            nn.Linear(width, 2 * width), nn.BatchNorm1d(2 * width, 0.8), nn.LeakyReLU(0.2),
            nn.Linear(2 * width, 64), nn.Tanh(),
        )  # fmt: skip

    def forward(self, z):
        return self.model(z)


class Discriminator(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(64, 2 * width), nn.LeakyReLU(0.2), nn.Dropout(0.2),
            nn.Linear(2 * width, width), nn.LeakyReLU(0.2), nn.Linear(width, 1), nn.Sigmoid(),
        )  # fmt: skip

    def forward(self, x):
        return self.model(x)


def main():
    args = options(lr=1e-3, width=48, steps=44)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    latent = 12
    images = torch.tensor(load_digits().data, dtype=torch.float32) / 8 - 1
    loader = DataLoader(TensorDataset(images), batch_size=80, shuffle=True)
    generator, discriminator = Generator(latent, args.width), Discriminator(args.width)
    adversarial_loss = nn.BCELoss()
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=args.lr, betas=(0.5, 0.999))
    optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=args.lr, betas=(0.5, 0.999))

    for epoch in range(max(2, args.steps // len(loader))):
        for (real,) in loader:
            valid, fake = torch.ones(len(real), 1), torch.zeros(len(real), 1)

            optimizer_g.zero_grad()
            gen = generator(torch.randn(len(real), latent))
            g_loss = adversarial_loss(discriminator(gen), valid)
            g_loss.backward()
            optimizer_g.step()

            optimizer_d.zero_grad()
            real_loss = adversarial_loss(discriminator(real), valid)
            fake_loss = adversarial_loss(discriminator(gen.detach()), fake)
            d_loss = (real_loss + fake_loss) / 2
            d_loss.backward()
            optimizer_d.step()
        print(f"epoch {epoch}: D {d_loss.item():.3f}, G {g_loss.item():.3f}")

    generator.eval()
    with torch.no_grad():
        print(f"mean of samples {generator(torch.randn(100, latent)).mean():.3f}, of images {images.mean():.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
