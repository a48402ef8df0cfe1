"""Pre-training of a table encoder on many customer KPIs, then fine-tuning on a few churn labels.

The labels come from one campaign (customers of one segment); the model is used for all.
The fine-tuning uses layer-wise learning rates (deep layers slow, head fast) and
no weight decay for biases and norms.
"""
import argparse
import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

FEATURES = 40
LATENT = 6
CLASSES = 5
KPIS = 16


def parse_args():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--steps", type=int, default=150)
    ap.add_argument("--layer-decay", type=float, default=0.1)
    return ap.parse_args()


class CustomerTable:
    def __init__(self, seed):
        g = torch.Generator().manual_seed(seed + 99)
        self.g = g
        self.mix1 = torch.randn(LATENT, 32, generator=g) / math.sqrt(LATENT)
        self.mix2 = torch.randn(32, FEATURES, generator=g) / math.sqrt(32)
        self.kpi = torch.randn(LATENT, KPIS, generator=g) / math.sqrt(LATENT)
        self.rule = torch.randn(LATENT, CLASSES, generator=g)

    def draw(self, n, campaign=False):
        z = torch.randn(n, LATENT, generator=self.g)
        if campaign:
            z[:, :2] = 0.8 + 0.4 * z[:, :2]
        x = torch.tanh(2 * z @ self.mix1) @ self.mix2
        x = x + 0.3 * torch.randn(n, FEATURES, generator=self.g)
        score = z @ self.rule + 0.2 * torch.randn(n, CLASSES, generator=self.g)
        return x, z @ self.kpi, score.argmax(1)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.fc1 = nn.Linear(width, 2 * width)
        self.fc2 = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.fc2(F.gelu(self.fc1(self.norm(x))))


class Encoder(nn.Module):
    def __init__(self, width=64, depth=3):
        super().__init__()
        self.stem = nn.Linear(FEATURES, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return x


class Classifier(nn.Module):
    def __init__(self, encoder, width=64):
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(width, CLASSES)

    def forward(self, x):
        return self.head(F.layer_norm(self.encoder(x), (64,)))


def pretrain(encoder, table, steps):
    heads = nn.Linear(64, KPIS)
    opt = torch.optim.AdamW([*encoder.parameters(), *heads.parameters()], lr=2e-3, weight_decay=1e-2)
    x_all, kpi_all, _ = table.draw(8000)
    for step in range(steps):
        idx = torch.randint(len(x_all), (128,))
        loss = F.mse_loss(heads(F.layer_norm(encoder(x_all[idx]), (64,))), kpi_all[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 100 == 0:
            print(f"pretrain {step:4d} kpi mse {loss.item():.4f}")


def layerwise_groups(model, lr, decay, weight_decay=0.01):
    """One pair of groups (decay / no decay) per layer, from the head down to the stem."""
    layers = [model.head, *reversed(model.encoder.blocks), model.encoder.stem]
    groups = []
    for depth, layer in enumerate(layers):
        layer_lr = lr * decay**depth
        for matrix in (True, False):
            params = [p for p in layer.parameters() if (p.ndim >= 2) == matrix]
            if params:
                groups.append({
                    "params": params,
                    "lr": layer_lr,
                    "weight_decay": weight_decay if matrix else 0.0,
                })
    return groups


def finetune(model, x, y, args):
    optimizer = torch.optim.AdamW(layerwise_groups(model, args.lr, args.layer_decay), lr=args.lr)
    warmup = max(1, args.steps // 10)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min(1.0, (s + 1) / warmup) * 0.5 * (1 + math.cos(math.pi * min(1.0, s / args.steps))))
    for step in range(args.steps):
        idx = torch.randperm(len(x))[:64]
        loss = F.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 50 == 0:
            print(f"finetune {step:4d} loss {loss.item():.4f}")


@torch.no_grad()
def evaluate(model, x, y):
    logits = model(x)
    return F.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()


def main():
    args = parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    table = CustomerTable(args.seed)
    encoder = Encoder()
    pretrain(encoder, table, 3 * args.steps)
    before = copy.deepcopy(encoder.state_dict())

    x_train, _, y_train = table.draw(300, campaign=True)
    x_val, _, y_val = table.draw(3000)
    model = Classifier(encoder)
    finetune(model, x_train, y_train, args)
    val_loss, val_acc = evaluate(model, x_val, y_val)
    moved = math.sqrt(sum((v - before[k]).pow(2).sum().item() for k, v in encoder.state_dict().items()))
    size = math.sqrt(sum(v.pow(2).sum().item() for v in before.values()))
    print(f"EVIDENCE val_loss={val_loss:.4f} val_acc={val_acc:.4f} encoder_drift={moved / size:.4f}")


if __name__ == "__main__":
    main()
