"""Convolutional VAE on the 8x8 digits with a linear warm-up of the KL weight and free samples at the end."""

import argparse

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--steps", type=int, default=15, help="epochs")
parser.add_argument("--latent", type=int, default=8)
parser.add_argument("--beta", type=float, default=0.7)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class VAE(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.latent = latent
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.LeakyReLU(0.1),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.LeakyReLU(0.1),
            nn.Flatten(),
        )
        self.mu = nn.Linear(32 * 4, latent)
        self.logvar = nn.Linear(32 * 4, latent)
        self.decoder = nn.Sequential(
            nn.Linear(latent, 32 * 4), nn.LeakyReLU(0.1), nn.Unflatten(1, (32, 2, 2)),
            nn.ConvTranspose2d(32, 16, 4, stride=2, padding=1), nn.BatchNorm2d(16), nn.LeakyReLU(0.1),
            nn.ConvTranspose2d(16, 1, 4, stride=2, padding=1),
        )

    def encode(self, x):
        h = self.encoder(x)
        return self.mu(h), self.logvar(h).clamp(-8, 8)

    def reparameterize(self, mu, logvar):
        if not self.training:
            return mu
        return mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decoder(self.reparameterize(mu, logvar)), mu, logvar

    @torch.no_grad()
    def sample(self, n):
        return torch.sigmoid(self.decoder(torch.randn(n, self.latent)))


def elbo_terms(logits, x, mu, logvar):
    """Both terms summed over pixels / latents and averaged over the batch."""
    rec = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(dim=(1, 2, 3)).mean()
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(dim=1).mean()
    return rec, kl


def kl_weight(step, warm, top):
    return top * min(1.0, step / warm)


digits = load_digits()
x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16.0
x_train, x_test, y_train, y_test = train_test_split(
    x, digits.target, test_size=0.2, random_state=args.seed, stratify=digits.target
)
loader = DataLoader(TensorDataset(x_train), batch_size=64, shuffle=True, drop_last=True)
model = VAE(args.latent)
opt = torch.optim.Adam(model.parameters(), lr=args.lr)
sched = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.95)
warm = max(1, args.steps * len(loader) // 2)

step = 0
for epoch in range(args.steps):
    model.train()
    sums = [0.0, 0.0]
    for (batch,) in loader:
        logits, mu, logvar = model(batch)
        rec, kl = elbo_terms(logits, batch, mu, logvar)
        loss = rec + kl_weight(step, warm, args.beta) * kl
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        sums[0] += rec.item()
        sums[1] += kl.item()
    sched.step()
    if epoch % 5 == 4:
        print(f"epoch {epoch} rec {sums[0] / len(loader):.2f} kl {sums[1] / len(loader):.2f}")

model.eval()
with torch.no_grad():
    logits, mu, logvar = model(x_test)
    rec, kl = elbo_terms(logits, x_test, mu, logvar)
    codes_train = model.encode(x_train)[0].numpy()
probe = LogisticRegression(max_iter=500).fit(codes_train, y_train)
score = probe.score(mu.numpy(), y_test)
print(f"test rec {rec:.2f} kl {kl:.2f}, probe {score:.3f}, mean of samples {model.sample(64).mean():.3f} (data {x.mean():.3f})")
