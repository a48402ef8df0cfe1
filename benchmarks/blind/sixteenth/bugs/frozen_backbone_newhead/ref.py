"""Adding a second task to a deployed classifier: shared frozen backbone, the old head must go on working.

Stage 1 trains backbone + digit head on clean digits. Stage 2 freezes both and trains a new head
(even/odd and large/small = 4 classes) on images of another, hazy camera.
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset


class Backbone(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, 2 * width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(2 * width)
        self.conv3 = nn.Conv2d(2 * width, 2 * width, 3, padding=1, bias=False)
        self.bn3 = nn.BatchNorm2d(2 * width)
        self.dim = 2 * width * 4

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        x = F.max_pool2d(F.relu(self.bn3(self.conv3(x))), 2)
        return x.flatten(1)


class MultiTaskNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = Backbone()
        self.heads = nn.ModuleDict({"digit": nn.Linear(self.backbone.dim, 10)})

    def add_head(self, name, classes, hidden=64):
        self.heads[name] = nn.Sequential(
            nn.Linear(self.backbone.dim, hidden), nn.ReLU(), nn.Dropout(0.2), nn.Linear(hidden, classes))

    def forward(self, x, task):
        return self.heads[task](self.backbone(x))


def second_camera(x, gen):
    gain = 0.5 + 0.2 * torch.rand(len(x), 1, 1, 1, generator=gen)
    return 0.8 * gain * x + 0.7 + 0.05 * torch.randn(x.shape, generator=gen)


def make_loaders(seed):
    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 8.0 - 1.0
    y = torch.tensor(digits.target)
    tr, te = train_test_split(range(len(x)), test_size=0.3, random_state=seed, stratify=digits.target)
    gen = torch.Generator().manual_seed(seed + 1)
    x2 = second_camera(x, gen)
    y2 = (y % 2) + 2 * (y >= 5).long()
    loaders = {}
    for name, xs, ys in (("digit", x, y), ("group", x2, y2)):
        loaders[name] = (
            DataLoader(TensorDataset(xs[tr], ys[tr]), batch_size=32, shuffle=True, drop_last=True),
            DataLoader(TensorDataset(xs[te], ys[te]), batch_size=256))
    return loaders


def batches(loader, n):
    done = 0
    while done < n:
        for batch in loader:
            yield batch
            done += 1
            if done >= n:
                return


@torch.no_grad()
def accuracy(model, loader, task):
    was_training = model.training
    model.eval()
    hit = sum((model(x, task).argmax(1) == y).sum().item() for x, y in loader)
    model.train(was_training)
    return hit / len(loader.dataset)


def set_finetune_mode(model):
    """Dropout of the new head is on."""
    model.train()
    model.backbone.eval()


def fit(model, loader, task, params, lr, steps, prepare, val):
    opt = torch.optim.AdamW(params, lr=lr, weight_decay=1e-3)
    log_every = max(1, steps // 4)
    for step, (x, y) in enumerate(batches(loader, steps), 1):
        prepare(model)
        loss = F.cross_entropy(model(x, task), y, label_smoothing=0.05)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        if step % log_every == 0:
            print(f"[{task}] step {step} loss {loss.item():.4f} val acc {accuracy(model, val, task):.4f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=200)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)

    loaders = make_loaders(args.seed)
    model = MultiTaskNet()
    pre_steps = args.steps // 4
    fit(model, loaders["digit"][0], "digit", model.parameters(), args.lr, pre_steps,
        lambda m: m.train(), loaders["digit"][1])
    before = accuracy(model, loaders["digit"][1], "digit")

    for p in model.parameters():
        p.requires_grad_(False)
    model.add_head("group", 4)
    fit(model, loaders["group"][0], "group", model.heads["group"].parameters(), args.lr, args.steps - pre_steps,
        set_finetune_mode, loaders["group"][1])

    after = accuracy(model, loaders["digit"][1], "digit")
    group = accuracy(model, loaders["group"][1], "group")
    print(f"EVIDENCE digit_acc_before={before:.4f} digit_acc_after={after:.4f} group_acc={group:.4f}")


if __name__ == "__main__":
    main()
