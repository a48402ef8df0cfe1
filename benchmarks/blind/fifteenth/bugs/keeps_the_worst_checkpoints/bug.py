"""Credit-risk style table with unreliable labels: accelerate loop, k best checkpoints, uniform soup."""
import argparse
import heapq
import tempfile
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset


def build_table(n, seed, flip):
    g = torch.Generator().manual_seed(seed)
    num = torch.randn(n, 14, generator=g)
    cat = torch.randint(0, 8, (n, 3), generator=g)
    rule = torch.Generator().manual_seed(4242)
    w = torch.randn(14, 6, generator=rule)
    c = torch.randn(3, 8, generator=rule)
    score = torch.tanh(num @ w * 0.5).sum(1) + sum(c[j][cat[:, j]] for j in range(3)) + 0.7 * num[:, 0] * num[:, 1]
    y = (score > 0.2).float()
    flipped = torch.rand(n, generator=g) < flip
    return num, cat, torch.where(flipped, 1 - y, y)


class Scorer(nn.Module):
    def __init__(self, width=160):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(8, 6) for _ in range(3))
        self.net = nn.Sequential(
            nn.Linear(14 + 18, width), nn.LayerNorm(width), nn.SiLU(),
            nn.Linear(width, width), nn.LayerNorm(width), nn.SiLU(),
            nn.Linear(width, 1),
        )

    def forward(self, num, cat):
        e = [t(cat[:, j]) for j, t in enumerate(self.tables)]
        return self.net(torch.cat([num, *e], 1)).squeeze(1)


class BestKeeper:
    """Keeps the k checkpoints with the lowest validation loss on disk."""

    def __init__(self, folder, k):
        self.folder, self.k, self.heap = Path(folder), k, []

    def offer(self, model, loss, epoch):
        path = self.folder / f"epoch{epoch:03d}.pt"
        entry = (loss, epoch, path)
        torch.save(model.state_dict(), path)
        if len(self.heap) < self.k:
            heapq.heappush(self.heap, entry)
            return
        # the smallest entry of the heap falls out, it may be the new one
        dropped = heapq.heappushpop(self.heap, entry)
        dropped[2].unlink()

    def soup(self):
        states = [torch.load(path, weights_only=True) for _, _, path in self.heap]
        return {name: torch.stack([s[name] for s in states]).mean(0) for name in states[0]}

    def epochs(self):
        return sorted(e for _, e, _ in self.heap)


@torch.no_grad()
def validate(model, loader):
    model.eval()
    total = right = count = 0
    for num, cat, y in loader:
        logit = model(num, cat)
        total += F.binary_cross_entropy_with_logits(logit, y, reduction="sum").item()
        right += ((logit > 0) == (y > 0.5)).sum().item()
        count += len(y)
    model.train()
    return total / count, right / count


def run(args):
    torch.manual_seed(args.seed)
    accelerator = Accelerator(cpu=True)
    train = TensorDataset(*build_table(1600, args.seed + 1, 0.12))
    val = TensorDataset(*build_table(1200, args.seed + 2, 0.12))
    test = TensorDataset(*build_table(4000, args.seed + 3, 0.0))
    model = Scorer()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-2)
    loader = DataLoader(train, batch_size=64, shuffle=True, drop_last=True)
    val_loader, test_loader = DataLoader(val, batch_size=400), DataLoader(test, batch_size=1000)
    model, opt, loader, val_loader = accelerator.prepare(model, opt, loader, val_loader)

    step, epoch = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        keeper = BestKeeper(folder, k=4)
        while step < args.steps:
            running = 0.0
            for num, cat, y in loader:
                loss = F.binary_cross_entropy_with_logits(model(num, cat), y)
                accelerator.backward(loss)
                accelerator.clip_grad_norm_(model.parameters(), 2.0)
                opt.step()
                opt.zero_grad()
                running += loss.item()
                step += 1
            val_loss, val_acc = validate(model, val_loader)
            keeper.offer(accelerator.unwrap_model(model), val_loss, epoch)
            if epoch % 8 == 0:
                print(f"epoch {epoch:3d}  train {running / len(loader):.4f}  val {val_loss:.4f}  acc {val_acc:.3f}")
            epoch += 1
        final = Scorer()
        final.load_state_dict(keeper.soup())
    nll, acc = validate(final, test_loader)
    print(f"EVIDENCE soup of epochs {keeper.epochs()} test loss {nll:.4f} test accuracy {acc:.4f}")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--steps", type=int, default=1000)
    torch.set_num_threads(1)
    run(ap.parse_args())
