"""A variational auto-encoder on digits, in the style of the PyTorch examples."""

import torch
from sklearn.datasets import load_digits
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader

from options import options


class VAE(nn.Module):
    def __init__(self, hidden, latent=8):
        super().__init__()
        self.fc1 = nn.Linear(64, hidden)
        self.fc21 = nn.Linear(hidden, latent)
        self.fc22 = nn.Linear(hidden, latent)
        self.fc3 = nn.Linear(latent, hidden)
        self.fc4 = nn.Linear(hidden, 64)

    def encode(self, x):
        h = F.relu(self.fc1(x))
        return self.fc21(h), self.fc22(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 64))
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(recon, x, mu, logvar):
    bce = F.binary_cross_entropy(recon, x.view(-1, 64), reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce + kld


args = options(lr=1e-2, width=64, steps=44, seed=1)
torch.manual_seed(args.seed)
torch.set_num_threads(1)
images = torch.tensor(load_digits().images, dtype=torch.float32) / 16
train_loader = DataLoader(images[:1400], batch_size=128, shuffle=True)
test_loader = DataLoader(images[1400:], batch_size=128, shuffle=False)
model = VAE(args.width)
optimizer = optim.Adam(model.parameters(), lr=args.lr)


def train():
    model.train()
    train_loss = 0
    for data in train_loader:
        optimizer.zero_grad()
        recon, mu, logvar = model(data)
        loss = loss_function(recon, data, mu, logvar)
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
    return train_loss / len(train_loader.dataset)


def test():
    model.eval()
    test_loss = 0
    with torch.no_grad():
        for data in test_loader:
            recon, mu, logvar = model(data)
            test_loss += loss_function(recon, data, mu, logvar).item()
    return test_loss / len(test_loader.dataset)


for epoch in range(1, max(2, args.steps // len(train_loader)) + 1):
    train_loss = train()
    test_loss = test()
    with torch.no_grad():
        sample = model.decode(torch.randn(16, 8))
    print(f"epoch {epoch}: train {train_loss:.3f}, test {test_loss:.3f}, mean of samples {sample.mean():.3f}")

# SPDX-License-Identifier: Apache-2.0
