"""Long-tailed digit classification, balanced accuracy on a uniform test set."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.metrics import balanced_accuracy_score
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler


def long_tailed_split(seed, head=130, ratio=0.6):
    """Class k keeps head * ratio**k training images; the test set holds 40 images of each class."""
    digits = load_digits()
    gen = torch.Generator().manual_seed(seed)
    x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16.0
    y = torch.tensor(digits.target)
    train_idx, test_idx = [], []
    for k in range(10):
        members = (y == k).nonzero().squeeze(1)
        members = members[torch.randperm(len(members), generator=gen)]
        test_idx.append(members[:40])
        keep = max(4, round(head * ratio ** k))
        train_idx.append(members[40:40 + keep])
    train_idx, test_idx = torch.cat(train_idx), torch.cat(test_idx)
    return TensorDataset(x[train_idx], y[train_idx]), (x[test_idx], y[test_idx])


def make_train_loader(dataset, batch_size, seed):
    gen = torch.Generator().manual_seed(seed)
    return DataLoader(dataset, batch_size=batch_size, shuffle=True, generator=gen, drop_last=True)


class ResidualBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm1 = nn.GroupNorm(4, width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm2 = nn.GroupNorm(4, width)

    def forward(self, x):
        h = F.relu(self.norm1(self.conv1(x)))
        return F.relu(x + self.norm2(self.conv2(h)))


class ResNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.stem = nn.Conv2d(1, width, 3, padding=1)
        self.block1 = ResidualBlock(width)
        self.block2 = ResidualBlock(width)
        self.head = nn.Linear(width * 4, 10)

    def forward(self, x):
        h = F.max_pool2d(self.block1(F.relu(self.stem(x))), 2)
        h = F.adaptive_avg_pool2d(self.block2(h), 2)
        return self.head(h.flatten(1))


def augment(x):
    return x + 0.1 * torch.randn_like(x)


@torch.no_grad()
def evaluate(model, data):
    model.eval()
    logits = model(data[0])
    model.train()
    acc = balanced_accuracy_score(data[1].numpy(), logits.argmax(1).numpy())
    return F.cross_entropy(logits, data[1]).item(), acc


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=32)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    train_set, test = long_tailed_split(args.seed)
    loader = make_train_loader(train_set, args.batch_size, args.seed)
    model = ResNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.steps)

    step = 0
    while step < args.steps:
        for x, y in loader:
            loss = F.cross_entropy(model(augment(x)), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            if step % 20 == 0:
                test_loss, acc = evaluate(model, test)
                print(f"step {step:4d} loss {loss.item():.4f} test loss {test_loss:.4f} balanced acc {acc:.3f}")
            step += 1
            if step >= args.steps:
                break

    test_loss, acc = evaluate(model, test)
    print(f"EVIDENCE balanced_accuracy={acc:.4f} test_loss={test_loss:.4f}")


if __name__ == "__main__":
    main()
