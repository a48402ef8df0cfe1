"""VQ-VAE on digit images: convolutional encoder, learned codebook, decoder."""
import argparse

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


class VectorQuantizer(nn.Module):
    def __init__(self, num_codes, dim, beta=0.25):
        super().__init__()
        self.codebook = nn.Embedding(num_codes, dim)
        nn.init.uniform_(self.codebook.weight, -0.5, 0.5)
        self.beta = beta

    def forward(self, z_e):
        b, d, h, w = z_e.shape
        flat = z_e.permute(0, 2, 3, 1).reshape(-1, d)
        dist = torch.cdist(flat.detach(), self.codebook.weight.detach())
        indices = dist.argmin(dim=1)
        z_q = self.codebook(indices).view(b, h, w, d).permute(0, 3, 1, 2)
        codebook_loss = F.mse_loss(z_q, z_e.detach())
        commitment_loss = F.mse_loss(z_e, z_q.detach())
        z_q = z_e + (z_q - z_e).detach()
        vq_loss = codebook_loss + self.beta * commitment_loss
        return z_q, vq_loss, indices


class VQVAE(nn.Module):
    def __init__(self, hidden=32, dim=8, num_codes=32):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, hidden, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(hidden, hidden, 4, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(hidden, dim, 1),
        )
        self.quantizer = VectorQuantizer(num_codes, dim)
        self.decoder = nn.Sequential(
            nn.Conv2d(dim, hidden, 3, padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(hidden, hidden, 4, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(hidden, 1, 3, padding=1),
        )

    def forward(self, x):
        z_e = self.encoder(x)
        z_q, vq_loss, indices = self.quantizer(z_e)
        return self.decoder(z_q), vq_loss, indices


def perplexity(indices, num_codes):
    p = torch.bincount(indices, minlength=num_codes).float()
    p = p / p.sum()
    return torch.exp(-(p * (p + 1e-10).log()).sum()).item()


@torch.no_grad()
def evaluate(model, images):
    model.eval()
    recon, _, indices = model(images)
    num_codes = model.quantizer.codebook.num_embeddings
    model.train()
    return F.mse_loss(recon, images).item(), perplexity(indices, num_codes)


def make_loaders(seed, batch_size):
    images = load_digits().images.astype("float32") / 16.0
    train, val = train_test_split(images, test_size=0.2, random_state=seed)
    train = torch.from_numpy(train).unsqueeze(1)
    val = torch.from_numpy(val).unsqueeze(1)
    loader = DataLoader(TensorDataset(train), batch_size=batch_size, shuffle=True, drop_last=True)
    return loader, val


def endless(loader):
    while True:
        for (batch,) in loader:
            yield batch


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--batch-size", type=int, default=64)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    loader, val = make_loaders(args.seed, args.batch_size)
    model = VQVAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    batches = endless(loader)

    for step in range(args.steps):
        x = next(batches)
        recon, vq_loss, indices = model(x)
        recon_loss = F.mse_loss(recon, x)
        loss = recon_loss + vq_loss
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if step % 20 == 0 or step == args.steps - 1:
            val_mse, ppl = evaluate(model, val)
            print(f"step {step:4d}  recon {recon_loss.item():.4f}  vq {vq_loss.item():.4f}  "
                  f"val {val_mse:.4f}  perplexity {ppl:.2f}")

    val_mse, ppl = evaluate(model, val)
    print(f"EVIDENCE val_recon_mse={val_mse:.5f} perplexity={ppl:.2f}")


if __name__ == "__main__":
    main()
