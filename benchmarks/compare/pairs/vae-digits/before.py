"""Variational autoencoder on the digits images with a warmed-up KL term."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class VAE(nn.Module):
    def __init__(self, latent=6, hidden=128):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, hidden), nn.Tanh(), nn.Linear(hidden, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.Tanh(), nn.Linear(hidden, 64))

    def forward(self, x):
        mu, logvar = self.encoder(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.decoder(z), mu, logvar


def elbo_terms(model, x):
    logits, mu, logvar = model(x)
    recon = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1).mean()
    kl = 0.5 * (mu**2 + logvar.exp() - 1 - logvar).sum(1).mean()
    return recon, kl


@torch.no_grad()
def validate(model, data, batch_size, max_batches=None):
    total, count = 0.0, 0
    for i, x in enumerate(data.split(batch_size)):
        if max_batches is not None and i >= max_batches:
            break
        recon, kl = elbo_terms(model, x)
        total += (recon + kl).item() * len(x)
        count += len(x)
    return total / count


class Trainer:
    def __init__(self, model, lr, steps, batch_size=64):
        self.model = model
        self.opt = torch.optim.RMSprop(model.parameters(), lr=lr)
        self.steps = steps
        self.batch_size = batch_size

    def fit(self, train, valid):
        sanity = validate(self.model, valid, self.batch_size, max_batches=2)
        print(f"sanity check loss {sanity:.6f}")
        for step in range(self.steps):
            idx = torch.randint(0, len(train), (self.batch_size,))
            recon, kl = elbo_terms(self.model, train[idx])
            beta = min(1.0, (step + 1) / 200)
            loss = recon + beta * kl
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            if step % 100 == 0 or step == self.steps - 1:
                print(f"step {step} loss {loss.item():.6f} kl {kl.item():.6f}")
        print(f"validation loss {validate(self.model, valid, self.batch_size):.6f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=800)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)

    x = torch.tensor(load_digits().data, dtype=torch.float32) / 16
    trainer = Trainer(VAE(), lr=1e-3, steps=args.steps)
    trainer.fit(x[:1400], x[1400:])


if __name__ == "__main__":
    main()
