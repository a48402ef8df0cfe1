"""Patch transformer on digits under CPU autocast (bfloat16): clean pretraining, then adaptation to images of another scanner."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class PatchTransformer(nn.Module):
    def __init__(self, dim=48, heads=4, depth=1, num_classes=10):
        super().__init__()
        self.patch = nn.Linear(4, dim)
        self.pos = nn.Parameter(torch.randn(1, 16, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, heads, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(dim, num_classes)

    def forward(self, x):
        tokens = F.unfold(x, 2, stride=2).transpose(1, 2)
        h = self.encoder(self.patch(tokens) + self.pos)
        return self.head(h.mean(1))


def load_data():
    d = load_digits()
    x = torch.tensor(d.images, dtype=torch.float32)[:, None] / 16.0
    y = torch.tensor(d.target)
    return (x[:1300], y[:1300]), (x[1300:], y[1300:])


def shift_domain(x):
    """The second scanner: images moved by one pixel, less contrast, a grey floor."""
    return 0.2 + 0.7 * torch.roll(x, 1, 3)


def pretrain(model, data, steps=120, lr=3e-3):
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    x, y = data
    for _ in range(steps):
        idx = torch.randint(0, len(x), (64,))
        loss = F.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"pretrained, loss {loss.item():.4f}")
    return model.state_dict()


def load_model(state_dict):
    model = PatchTransformer()
    model.load_state_dict(state_dict)
    return model.train()


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(x)
    model.train()
    logits = logits.float()
    return (logits.argmax(1) == y).float().mean().item(), F.cross_entropy(logits, y).item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--steps", type=int, default=120)
    p.add_argument("--batch-size", type=int, default=64)
    args = p.parse_args()
    torch.manual_seed(args.seed)

    (xtr, ytr), (xte, yte) = load_data()
    model = load_model(pretrain(PatchTransformer(), (xtr, ytr)))

    xtr, xte = shift_domain(xtr), shift_domain(xte)
    acc, nll = evaluate(model, xte, yte)
    print(f"before adaptation: acc {acc:.4f} nll {nll:.4f}")

    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=args.steps)
    for step in range(args.steps):
        idx = torch.randint(0, len(xtr), (args.batch_size,))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(xtr[idx])
        loss = F.cross_entropy(logits.float(), ytr[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step:4d} loss {loss.item():.4f}")

    acc, nll = evaluate(model, xte, yte)
    print(f"EVIDENCE test_acc={acc:.4f} test_nll={nll:.4f}")


if __name__ == "__main__":
    main()
