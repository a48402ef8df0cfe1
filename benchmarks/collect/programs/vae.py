"""A variational autoencoder of fully connected layers, batches of 128: steps of a few milliseconds."""
import torch
import torch.nn.functional as F
from meter import STEPS, Meter
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 400)
        self.mean = nn.Linear(400, 20)
        self.log_variance = nn.Linear(400, 20)
        self.fc3 = nn.Linear(20, 400)
        self.fc4 = nn.Linear(400, 784)

    def encode(self, x):
        h = F.relu(self.fc1(x))
        return self.mean(h), self.log_variance(h)

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mean, log_variance = self.encode(x)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        return self.decode(z), mean, log_variance


def main():
    torch.manual_seed(0)
    meter = Meter()
    data = TensorDataset(torch.rand(128 * STEPS, 784))
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    model.train()
    for (x,) in DataLoader(data, batch_size=128, shuffle=True):
        optimizer.zero_grad()
        y, mean, log_variance = model(x)
        kl = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
        loss = F.binary_cross_entropy(y, x, reduction="sum") + kl
        loss.backward()
        optimizer.step()
        meter.tick()
    meter.write()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
