"""SimCLR-style pretraining on digits with a per-iteration warmup + cosine schedule."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset


class TwoViewDigits(Dataset):
    def __init__(self, images):
        self.images = images

    def __len__(self):
        return len(self.images)

    @staticmethod
    def augment(img):
        dy, dx = torch.randint(-1, 2, (2,)).tolist()
        img = torch.roll(img, shifts=(dy, dx), dims=(-2, -1))
        gain = 0.7 + 0.6 * torch.rand(())
        img = img * gain + 0.1 * torch.randn_like(img)
        r, c = torch.randint(0, 7, (2,)).tolist()
        img = img.clone()
        img[:, r:r + 2, c:c + 2] = 0
        return img

    def __getitem__(self, index):
        img = self.images[index]
        return self.augment(img), self.augment(img)


class Encoder(nn.Module):
    def __init__(self, width=32, dim=32):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, width * 2, 3, padding=1), nn.BatchNorm2d(width * 2), nn.ReLU(), nn.Flatten(),
        )
        feat = width * 2 * 16
        self.projector = nn.Sequential(nn.Linear(feat, 128), nn.ReLU(), nn.Linear(128, dim))

    def forward(self, x):
        return F.normalize(self.projector(self.backbone(x)), dim=1)


def nt_xent(z1, z2, temperature):
    z = torch.cat([z1, z2])
    n = len(z1)
    logits = z @ z.t() / temperature
    logits.fill_diagonal_(-1e9)
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(logits, target)


def warmup_cosine(optimizer, warmup_steps, total_steps, num_cycles=0.5):
    def scale(step):
        if step < warmup_steps:
            return (step + 1) / warmup_steps
        progress = (step - warmup_steps) / max(1, total_steps - warmup_steps)
        return max(0.0, 0.5 * (1.0 + math.cos(math.pi * num_cycles * 2.0 * progress)))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, scale)


@torch.no_grad()
def knn_accuracy(model, bank_x, bank_y, x, y, k=5):
    model.eval()
    bank = F.normalize(model.backbone(bank_x), dim=1)
    query = F.normalize(model.backbone(x), dim=1)
    near = (query @ bank.t()).topk(k, dim=1).indices
    votes = F.one_hot(bank_y[near], 10).sum(1)
    return (votes.argmax(1) == y).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--temperature", type=float, default=0.2)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16.0
    labels = torch.tensor(digits.target)
    order = torch.randperm(len(images))
    images, labels = images[order], labels[order]

    loader = DataLoader(TwoViewDigits(images[:1300]), batch_size=args.batch_size, shuffle=True, drop_last=True)
    steps_per_epoch = len(loader)
    epochs = math.ceil(args.steps / steps_per_epoch)

    model = Encoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)
    max_steps = min(args.steps, epochs * steps_per_epoch)
    scheduler = warmup_cosine(optimizer, warmup_steps=2, total_steps=max_steps)

    step, last_loss = 0, float("nan")
    for epoch in range(epochs):
        model.train()
        for v1, v2 in loader:
            if step >= args.steps:
                break
            loss = nt_xent(model(v1), model(v2), args.temperature)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            step += 1
            last_loss = loss.item()
        print(f"epoch {epoch} step {step} loss {last_loss:.4f} lr {scheduler.get_last_lr()[0]:.5f}")

    acc = knn_accuracy(model, images[:300], labels[:300], images[1300:], labels[1300:])
    print(f"EVIDENCE knn_accuracy={acc:.4f} final_lr_ratio={scheduler.get_last_lr()[0] / args.lr:.4f} "
          f"last_loss={last_loss:.4f}")


if __name__ == "__main__":
    main()
