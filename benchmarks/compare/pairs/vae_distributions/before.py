"""Convolutional VAE on digits; ELBO per image, linear KL warm-up, importance of the latent space checked by a probe."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from torch.distributions import Normal, kl_divergence
from torch.utils.data import DataLoader, TensorDataset


class VAE(nn.Module):
    def __init__(self, latent=10, width=24):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.SiLU(),
            nn.Conv2d(width, 2 * width, 4, stride=2, padding=1), nn.SiLU(),
            nn.Flatten(), nn.Linear(2 * width * 16, 128), nn.SiLU(),
        )
        self.to_mean = nn.Linear(128, latent)
        self.to_logvar = nn.Linear(128, latent)
        self.decoder = nn.Sequential(
            nn.Linear(latent, 128), nn.SiLU(),
            nn.Linear(128, 2 * width * 16), nn.SiLU(),
            nn.Unflatten(1, (2 * width, 4, 4)),
            nn.ConvTranspose2d(2 * width, width, 4, stride=2, padding=1), nn.SiLU(),
            nn.Conv2d(width, 1, 3, padding=1),
        )

    def posterior(self, x):
        h = self.encoder(x)
        return self.to_mean(h), self.to_logvar(h).clamp(-8.0, 4.0)

    def decode(self, z):
        return self.decoder(z)


def elbo_terms(model, x):
    """Reconstruction and KL, summed over pixels or latents and averaged over the batch."""
    mean, logvar = model.posterior(x)
    z = mean + torch.exp(0.5 * logvar) * torch.randn_like(mean)
    kl = 0.5 * (mean.pow(2) + logvar.exp() - 1.0 - logvar)
    logits = model.decode(z)
    recon = F.binary_cross_entropy_with_logits(logits, x, reduction="none")
    return recon.flatten(1).sum(1).mean(), kl.sum(1).mean()


@torch.no_grad()
def evaluate(model, x):
    model.eval()
    torch_state = torch.get_rng_state()
    torch.manual_seed(0)
    recon, kl = elbo_terms(model, x)
    torch.set_rng_state(torch_state)
    model.train()
    return recon.item(), kl.item()


@torch.no_grad()
def probe(model, train, test):
    features = [model.posterior(t[0])[0].numpy() for t in (train, test)]
    clf = LogisticRegression(max_iter=500).fit(features[0], train[1].numpy())
    return clf.score(features[1], test[1].numpy())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--kl-warmup", type=int, default=40)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16.0
    y = torch.tensor(digits.target)
    perm = torch.randperm(len(x))
    x, y = x[perm], y[perm]
    train, test = (x[:1400], y[:1400]), (x[1400:], y[1400:])
    loader = DataLoader(TensorDataset(train[0]), batch_size=args.batch_size, shuffle=True, drop_last=True)

    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    step = 0
    while step < args.steps:
        for (batch,) in loader:
            recon, kl = elbo_terms(model, batch)
            beta = min(1.0, (step + 1) / args.kl_warmup)
            loss = recon + beta * kl
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 20.0)
            optimizer.step()
            if step % 20 == 0:
                print(f"step {step:4d}  recon {recon.item():.3f}  kl {kl.item():.3f}  beta {beta:.2f}")
            step += 1
            if step >= args.steps:
                break

    recon, kl = evaluate(model, test[0])
    acc = probe(model, train, test)
    print(f"test recon {recon:.3f} kl {kl:.3f}")
    print(f"EVIDENCE negative_elbo={recon + kl:.3f} probe_accuracy={acc:.4f}")


if __name__ == "__main__":
    main()
