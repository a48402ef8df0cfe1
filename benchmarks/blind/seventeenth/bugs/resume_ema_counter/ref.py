"""Digit classifier with a warmed-up model EMA; the job is preempted once and resumes from its checkpoint."""
import argparse
import copy
import io
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class ModelEMA:
    """Average of all floating point state; the decay ramps up with the number of updates."""

    def __init__(self, model, decay=0.9, tau=15.0):
        self.module = copy.deepcopy(model).eval()
        for p in self.module.parameters():
            p.requires_grad_(False)
        self.max_decay = decay
        self.tau = tau
        self.updates = 0

    def current_decay(self):
        return self.max_decay * (1.0 - math.exp(-self.updates / self.tau))

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        d = self.current_decay()
        source = model.state_dict()
        for name, value in self.module.state_dict().items():
            if value.dtype.is_floating_point:
                value.mul_(d).add_(source[name], alpha=1.0 - d)
            else:
                value.copy_(source[name])

    def state_dict(self):
        return {"module": self.module.state_dict(), "updates": self.updates}

    def load_state_dict(self, state):
        self.module.load_state_dict(state["module"])
        self.updates = state.get("updates", 0)


class Net(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * width, 10),
        )

    def forward(self, x):
        return self.body(x)


class Trainer:
    def __init__(self, args, data):
        self.args = args
        self.x, self.y = data
        self.model = Net()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr, momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, self.lr_factor)
        self.ema = ModelEMA(self.model)
        self.step = 0

    def lr_factor(self, step):
        warmup = 10
        if step < warmup:
            return (step + 1) / warmup
        return 1.0 - 0.2 * (step - warmup) / max(self.args.steps - warmup, 1)

    def save(self):
        buffer = io.BytesIO()
        torch.save({
            "model": self.model.state_dict(),
            "ema": self.ema.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "rng": torch.get_rng_state(),
            "step": self.step,
        }, buffer)
        return buffer.getvalue()

    def resume(self, blob):
        state = torch.load(io.BytesIO(blob))
        self.model.load_state_dict(state["model"])
        self.ema.load_state_dict(state["ema"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        torch.set_rng_state(state["rng"])
        self.step = state["step"]

    def run(self, until):
        self.model.train()
        while self.step < until:
            idx = torch.randint(0, len(self.x), (self.args.batch_size,))
            noisy = self.x[idx] + 0.2 * torch.randn_like(self.x[idx])
            loss = F.cross_entropy(self.model(noisy), self.y[idx], label_smoothing=0.1)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            self.ema.update(self.model)
            self.step += 1
            if self.step % 20 == 0:
                print(f"step {self.step:4d} loss {loss.item():.4f} decay {self.ema.current_decay():.4f}")


@torch.no_grad()
def evaluate(module, x, y):
    module.eval()
    logits = module(x)
    return F.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()


@torch.no_grad()
def smoothing(model, average):
    """Relative distance of the average from the raw weights."""
    num = sum((p - q).pow(2).sum() for p, q in zip(model.parameters(), average.parameters()))
    den = sum(p.pow(2).sum() for p in model.parameters())
    return (num / den).sqrt().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.07)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--preempt-at", type=float, default=0.95)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16.0
    y = torch.tensor(digits.target)
    perm = torch.randperm(len(x))
    x, y = x[perm], y[perm]
    train, test = (x[:500], y[:500]), (x[500:], y[500:])
    noise = 0.2 * torch.randn(test[0].shape, generator=torch.Generator().manual_seed(5))
    test = (test[0] + noise, test[1])

    first = Trainer(args, train)
    first.run(int(args.steps * args.preempt_at))
    loss_before, acc = evaluate(first.ema.module, *test)
    print(f"preempted at step {first.step}: ema loss {loss_before:.4f} acc {acc:.4f}")
    checkpoint = first.save()

    second = Trainer(args, train)
    second.resume(checkpoint)
    second.run(args.steps)
    loss, acc = evaluate(second.ema.module, *test)
    raw_loss, raw_acc = evaluate(second.model, *test)
    print(f"finished at step {second.step}: raw loss {raw_loss:.4f} acc {raw_acc:.4f}")
    distance = smoothing(second.model, second.ema.module)
    print(f"EVIDENCE ema_test_accuracy={acc:.4f} ema_test_loss={loss:.4f} ema_distance={distance:.4f}")


if __name__ == "__main__":
    main()
