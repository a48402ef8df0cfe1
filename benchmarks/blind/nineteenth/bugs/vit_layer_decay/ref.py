"""Fine-tune a small pretrained vision transformer with layer-wise learning rate decay."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


def load_data(seed, labelled):
    digits = load_digits()
    x = (torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) - 4.9) / 6.0
    y = torch.tensor(digits.target)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    x, y = x[order], y[order]
    return x[:1000], x[1000:1000 + labelled], y[1000:1000 + labelled], x[1300:], y[1300:]


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, dim * 2), nn.GELU(), nn.Linear(dim * 2, dim))

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class TinyViT(nn.Module):
    def __init__(self, classes, dim=40, depth=3, heads=4):
        super().__init__()
        self.patch_embed = nn.Conv2d(1, dim, kernel_size=2, stride=2)
        self.pos_embed = nn.Parameter(torch.randn(1, 16, dim) * 0.2)
        self.blocks = nn.ModuleList([Block(dim, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(1))


def layer_id(name, num_layers):
    if name.startswith(("patch_embed", "pos_embed")):
        return 0
    if name.startswith("blocks"):
        return int(name.split(".")[1]) + 1
    return num_layers


def param_groups_lrd(model, weight_decay, layer_decay):
    num_layers = len(model.blocks) + 1
    scales = [layer_decay ** (num_layers - i) for i in range(num_layers + 1)]
    groups = {}
    for name, param in model.named_parameters():
        if not param.requires_grad:
            continue
        decay = 0.0 if param.ndim == 1 or name == "pos_embed" else weight_decay
        index = layer_id(name, num_layers)
        key = (index, decay)
        if key not in groups:
            groups[key] = {"lr_scale": scales[index], "weight_decay": decay, "params": []}
        groups[key]["params"].append(param)
    return list(groups.values())


def adjust_learning_rate(optimizer, step, args):
    warmup = max(1, args.steps // 10)
    if step < warmup:
        lr = args.lr * (step + 1) / warmup
    else:
        progress = (step - warmup) / max(1, args.steps - warmup)
        lr = args.lr * 0.5 * (1.0 + math.cos(math.pi * progress))
    for group in optimizer.param_groups:
        group["lr"] = lr * group["lr_scale"]
    return lr


def pretrain(images, steps=110):
    """Predict by how many quarter turns (and whether mirrored) an image was transformed."""
    model = TinyViT(classes=8)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(steps):
        batch = images[torch.randint(0, len(images), (96,))]
        target = torch.randint(0, 8, (len(batch),))
        views = torch.stack([
            torch.rot90(img.flip(-1) if t >= 4 else img, int(t) % 4, dims=(-2, -1))
            for img, t in zip(batch, target)
        ])
        loss = F.cross_entropy(model(views), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


def drift(model, start):
    out = {}
    for name in ("patch_embed.weight", "blocks.0.mlp.0.weight", "blocks.2.mlp.0.weight"):
        now = model.state_dict()[name]
        out[name] = ((now - start[name]).norm() / start[name].norm()).item()
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--layer-decay", type=float, default=0.65)
    parser.add_argument("--labelled", type=int, default=150)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    unlabelled, train_x, train_y, test_x, test_y = load_data(args.seed, args.labelled)
    model = pretrain(unlabelled)
    model.head = nn.Linear(model.head.in_features, 10)
    start = {k: v.clone() for k, v in model.state_dict().items()}

    optimizer = torch.optim.AdamW(param_groups_lrd(model, 0.05, args.layer_decay), lr=args.lr)
    for step in range(args.steps):
        model.train()
        lr = adjust_learning_rate(optimizer, step, args)
        pick = torch.randint(0, len(train_x), (48,))
        loss = F.cross_entropy(model(train_x[pick]), train_y[pick], label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step:3d} lr {lr:.5f} loss {loss.item():.4f}")

    moved = " ".join(f"drift[{k}]={v:.3f}" for k, v in drift(model, start).items())
    print(f"EVIDENCE test_accuracy={accuracy(model, test_x, test_y):.4f} {moved}")


if __name__ == "__main__":
    main()
