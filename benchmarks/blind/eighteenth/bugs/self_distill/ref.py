"""Semi-supervised self-distillation: the net's own clean view teaches its augmented view."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class Net(nn.Module):
    def __init__(self, c=24, num_classes=10, p_drop=0.3):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, c, 3, padding=1), nn.BatchNorm2d(c), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(c, 2 * c, 3, padding=1), nn.BatchNorm2d(2 * c), nn.ReLU(), nn.Flatten(),
            nn.Dropout(p_drop))
        self.fc = nn.Sequential(nn.Linear(2 * c * 16, 64), nn.ReLU(), nn.Dropout(p_drop), nn.Linear(64, num_classes))

    def forward(self, x):
        return self.fc(self.features(x))


def augment(x):
    dy, dx = torch.randint(-1, 2, (2,)).tolist()
    x = torch.roll(x, (dy, dx), (2, 3))
    return x + 0.2 * torch.randn_like(x)


def split(seed, n_labelled=100):
    d = load_digits()
    x = torch.tensor(d.images, dtype=torch.float32)[:, None] / 16.0
    y = torch.tensor(d.target)
    perm = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    lab, unl, test = perm[:n_labelled], perm[n_labelled:1300], perm[1300:]
    return (x[lab], y[lab]), x[unl], (x[test], y[test])


class SelfDistiller:
    def __init__(self, model, args):
        self.model = model
        self.temperature = args.temperature
        self.weight = args.distill_weight

    def soft_targets(self, x):
        self.model.eval()
        with torch.no_grad():
            logits = self.model(x)
        self.model.train()
        return F.softmax(logits / self.temperature, dim=1)

    def loss(self, x_lab, y_lab, x_unl):
        targets = self.soft_targets(x_unl)
        sup = F.cross_entropy(self.model(augment(x_lab)), y_lab)
        log_probs = F.log_softmax(self.model(augment(x_unl)) / self.temperature, dim=1)
        distill = F.kl_div(log_probs, targets, reduction="batchmean") * self.temperature ** 2
        return sup + self.weight * distill, sup, distill


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    logits = model(x)
    return (logits.argmax(1) == y).float().mean().item(), F.cross_entropy(logits, y).item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--steps", type=int, default=120)
    p.add_argument("--temperature", type=float, default=1.0)
    p.add_argument("--distill-weight", type=float, default=1.0)
    args = p.parse_args()
    torch.manual_seed(args.seed)

    (x_lab, y_lab), x_unl, (x_test, y_test) = split(args.seed)
    model = Net()
    distiller = SelfDistiller(model, args)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.steps)

    model.train()
    for step in range(args.steps):
        i = torch.randint(0, len(x_lab), (32,))
        j = torch.randint(0, len(x_unl), (96,))
        total, sup, distill = distiller.loss(x_lab[i], y_lab[i], x_unl[j])
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        scheduler.step()
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step:4d} loss {total.item():.4f} sup {sup.item():.4f} distill {distill.item():.4f}")

    acc, nll = evaluate(model, x_test, y_test)
    print(f"EVIDENCE test_acc={acc:.4f} test_nll={nll:.4f}")


if __name__ == "__main__":
    main()
