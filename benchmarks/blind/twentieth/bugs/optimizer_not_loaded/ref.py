"""Vision-language projector training that restarts from a checkpoint after a preemption."""
import argparse
import pathlib
import tempfile

import torch
from torch import nn
import torch.nn.functional as F


class Projector(nn.Module):
    def __init__(self, vision=32, text=24):
        super().__init__()
        self.fc1 = nn.Linear(vision, 64)
        self.fc2 = nn.Linear(64, text)
        self.logit_scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, patches):
        return F.normalize(self.fc2(F.gelu(self.fc1(patches))), dim=-1) * self.logit_scale.exp()


class Pairs:
    """Image features and the caption features that belong to them."""

    def __init__(self, seed):
        fixed = torch.Generator().manual_seed(33)
        self.view = torch.randn(24, 32, generator=fixed)
        self.gen = torch.Generator().manual_seed(seed)

    def draw(self, n):
        caption = F.normalize(torch.randn(n, 24, generator=self.gen), dim=-1)
        image = torch.tanh(caption @ self.view) + 0.1 * torch.randn(n, 32, generator=self.gen)
        return image, caption


class Checkpointer:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def save(self, step, model, optimizer):
        torch.save(model.state_dict(), self.folder / "model.pt")
        torch.save(optimizer.state_dict(), self.folder / "optim.pt")
        torch.save({"step": step}, self.folder / "meta.pt")

    def restore(self, model, optimizer):
        model.load_state_dict(torch.load(self.folder / "model.pt"))
        optim_state = torch.load(self.folder / "optim.pt")
        optimizer.load_state_dict(optim_state)
        step = torch.load(self.folder / "meta.pt")["step"]
        print(f"restored step {step} with {len(optim_state['state'])} optimizer entries")
        return step


def contrastive(model, image, caption):
    logits = model(image) @ caption.T
    target = torch.arange(len(image))
    return (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2


def build(args):
    torch.manual_seed(args.seed)
    model = Projector()
    decay = [p for n, p in model.named_parameters() if n.endswith("weight")]
    rest = [p for n, p in model.named_parameters() if not n.endswith("weight")]
    groups = [{"params": decay, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}]
    return model, torch.optim.AdamW(groups, lr=args.lr, betas=(0.9, 0.999))


def run(model, optimizer, pairs, start, stop, losses):
    for step in range(start, stop):
        image, caption = pairs.draw(64)
        loss = contrastive(model, image, caption)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 80 == 0:
            print(f"step {step} contrastive loss {loss.item():.4f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=400)
    args = ap.parse_args()
    pairs = Pairs(args.seed)
    losses = []
    cut = args.steps // 2
    with tempfile.TemporaryDirectory() as folder:
        checkpointer = Checkpointer(folder)
        model, optimizer = build(args)
        run(model, optimizer, pairs, 0, cut, losses)
        checkpointer.save(cut, model, optimizer)

        model, optimizer = build(args)
        step = checkpointer.restore(model, optimizer)
    run(model, optimizer, pairs, step, args.steps, losses)
    count = next(iter(optimizer.state.values()))["step"].item()
    jump = max(losses[cut : cut + 15]) - sum(losses[cut - 15 : cut]) / 15
    print(f"EVIDENCE optimizer_steps={count:.0f}/{args.steps} loss_jump={jump:.3f} last_loss={losses[-1]:.4f}")


if __name__ == "__main__":
    main()
