"""Layer-wise rates: the deeper the layer the smaller the rate, no decay for norms and biases, embeddings almost at rest."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

WORDS, LENGTH = 30, 12


def reviews(n, gen):
    tokens = torch.randint(0, WORDS, (n, LENGTH), generator=gen)
    good = (tokens < 6).sum(1) - (tokens > 23).sum(1)
    return tokens, (good > 0).long()


class Reader(nn.Module):
    def __init__(self, dim=24, layers=3):
        super().__init__()
        self.embed = nn.Embedding(WORDS, dim)
        self.layers = nn.ModuleList([
            nn.TransformerEncoderLayer(dim, 2, 48, dropout=0.0, batch_first=True, norm_first=True) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, 2)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x).mean(1))


def layer_id(name, depth):
    if name.startswith("embed"):
        return 0
    if name.startswith("layers."):
        return int(name.split(".")[1]) + 1
    return depth + 1


def parameter_groups(model, lr, decay, weight_decay):
    depth, groups = len(model.layers), {}
    for name, p in model.named_parameters():
        number = layer_id(name, depth)
        wd = 0.0 if p.ndim < 2 or name.startswith("embed") else weight_decay
        key = (number, wd)
        if key not in groups:
            groups[key] = {"params": [], "lr": lr * decay ** (depth + 1 - number), "weight_decay": wd}
        groups[key]["params"].append(p)
    return list(groups.values())


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--steps", type=int, default=100)
    p.add_argument("--layer-decay", type=float, default=0.4)
    args = p.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(args.seed)
    model = Reader()
    optimizer = torch.optim.AdamW(parameter_groups(model, args.lr, args.layer_decay, 0.05))
    warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda k: min(1.0, (k + 1) / 10))
    for step in range(1, args.steps + 1):
        tokens, label = reviews(48, gen)
        loss = F.cross_entropy(model(tokens), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        warmup.step()
        if step % 25 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    rates = [g["lr"] for g in optimizer.param_groups]
    model.eval()
    with torch.no_grad():
        tokens, label = reviews(400, torch.Generator().manual_seed(5))
        acc = (model(tokens).argmax(1) == label).float().mean().item()
    print(f"RESULT rates {min(rates):.2e} to {max(rates):.2e} accuracy={acc:.3f}")


if __name__ == "__main__":
    main()
