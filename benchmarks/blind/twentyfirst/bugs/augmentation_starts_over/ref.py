"""Transfer to new classes: the body thaws after a while, the job is cut off and goes on from its checkpoint."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

SIZE, OLD, NEW = 16, 5, 8


def shapes(n, classes, gen, seed):
    proto = torch.randn(classes, 1, SIZE, SIZE, generator=torch.Generator().manual_seed(seed))
    proto = F.avg_pool2d(proto, 5, 1, 2) * 4
    y = torch.randint(0, classes, (n,), generator=gen)
    return proto[y] + 0.8 * torch.randn(n, 1, SIZE, SIZE, generator=gen), y


class Classifier(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 12, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten())
        self.head = nn.Linear(24 * 16, classes)

    def forward(self, x):
        return self.head(self.body(x))


class FreezeUnfreeze:
    """The body is frozen at first; it thaws at the given step, also when the run starts behind that step."""

    def __init__(self, body, unfreeze_at):
        self.body, self.unfreeze_at = body, unfreeze_at
        self.body.requires_grad_(False)

    def before_step(self, step):
        if step >= self.unfreeze_at:
            self.body.requires_grad_(True)


def train_part(model, optimizer, first, last, unfreeze_at, augment):
    freezing = FreezeUnfreeze(model.body, unfreeze_at)
    shifts = []
    for step in range(first, last):
        freezing.before_step(step)
        x, y = shapes(48, NEW, torch.Generator().manual_seed(1000 + step), seed=2)
        shift = int(torch.randint(-2, 3, (1,), generator=augment))
        shifts.append(shift)
        loss = F.cross_entropy(model(torch.roll(x, shift, 3)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    return loss.item(), shifts


def checkpoint_of(model, optimizer, step, augment):
    return copy.deepcopy({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step,
                          "augment": augment.get_state()})


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--steps", type=int, default=240)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    source = Classifier(OLD)
    optimizer = torch.optim.Adam(source.parameters(), lr=args.lr)
    for _ in range(args.steps // 3):
        x, y = shapes(48, OLD, gen, seed=1)
        loss = F.cross_entropy(source(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    model = Classifier(NEW)
    model.body.load_state_dict(source.body.state_dict())
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    augment = torch.Generator().manual_seed(args.seed + 7)
    cut, unfreeze_at = args.steps // 2, args.steps // 4
    _, before = train_part(model, optimizer, 0, cut, unfreeze_at, augment)
    saved = checkpoint_of(model, optimizer, cut, augment)

    model = Classifier(NEW)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    augment = torch.Generator().manual_seed(args.seed + 7)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    augment.set_state(saved["augment"])
    at_resume = model.body[0].weight.detach().clone()
    last, after = train_part(model, optimizer, saved["step"], args.steps, unfreeze_at, augment)
    moved = (model.body[0].weight - at_resume).norm().item()
    print(f"EVIDENCE body_moved_after_resume={moved:.4f} same_shifts_again={before[:20] == after[:20]} loss={last:.4f}")


if __name__ == "__main__":
    main()
