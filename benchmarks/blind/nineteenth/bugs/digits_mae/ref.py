"""Masked autoencoder on the 8x8 digits: reconstruct the hidden 2x2 patches."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

PATCH = 2
TOKENS = (8 // PATCH) ** 2


def load_split(seed):
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32) / 16.0
    images = (images - images.mean()) / images.std()
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(seed))
    return images[order[:1400]], images[order[1400:]]


def patchify(images):
    n = images.shape[0]
    x = images.reshape(n, 8 // PATCH, PATCH, 8 // PATCH, PATCH)
    return x.permute(0, 1, 3, 2, 4).reshape(n, TOKENS, PATCH * PATCH)


def random_keep_mask(n, ratio, generator=None):
    """Boolean [n, TOKENS]; True where the patch stays visible."""
    scores = torch.rand(n, TOKENS, generator=generator)
    hidden = int(TOKENS * ratio)
    ranks = scores.argsort(dim=1).argsort(dim=1)
    return ranks >= hidden


class MaskedAutoencoder(nn.Module):
    """Patch embedding, learned mask token, and an MLP over the whole token grid."""

    def __init__(self, dim=12, hidden=384):
        super().__init__()
        self.embed = nn.Linear(PATCH * PATCH, dim)
        self.mask_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.encoder = nn.Sequential(
            nn.Linear(TOKENS * dim, hidden), nn.LayerNorm(hidden), nn.GELU(),
            nn.Linear(hidden, hidden), nn.LayerNorm(hidden), nn.GELU(),
        )
        self.decoder = nn.Linear(hidden, TOKENS * PATCH * PATCH)

    def forward(self, patches, keep):
        tokens = self.embed(patches)
        tokens = torch.where(keep.unsqueeze(-1), tokens, self.mask_token.expand_as(tokens))
        return self.decoder(self.encoder(tokens.flatten(1))).view_as(patches)


def reconstruction_loss(pred, target, keep, masked_only=True):
    if masked_only:
        return F.mse_loss(pred[~keep], target[~keep])
    return F.mse_loss(pred, target)


@torch.no_grad()
def hidden_patch_error(model, patches, ratio):
    model.eval()
    keep = random_keep_mask(len(patches), ratio, torch.Generator().manual_seed(99))
    pred = model(patches, keep)
    per_patch = (pred - patches).pow(2).mean(-1)
    return (per_patch * (~keep)).sum().item() / (~keep).sum().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--mask-ratio", type=float, default=0.5)
    parser.add_argument("--batch-size", type=int, default=256)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    train_x, test_x = load_split(args.seed)
    train_p, test_p = patchify(train_x), patchify(test_x)

    model = MaskedAutoencoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)

    for step in range(args.steps):
        model.train()
        batch = train_p[torch.randint(0, len(train_p), (args.batch_size,))]
        keep = random_keep_mask(len(batch), args.mask_ratio)
        loss = reconstruction_loss(model(batch, keep), batch, keep)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step:3d}  rec loss {loss.item():.5f}")

    error = hidden_patch_error(model, test_p, args.mask_ratio)
    baseline = (test_p - train_p.mean(0)).pow(2).mean().item()
    print(f"EVIDENCE hidden_patch_mse={error:.5f} mean_image_mse={baseline:.5f}")


if __name__ == "__main__":
    main()
