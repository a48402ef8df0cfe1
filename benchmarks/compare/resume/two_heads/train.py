"""One body with two heads: the digit, and how much ink the picture has."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class TwoHeads(nn.Module):
    def __init__(self, dim=40):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, dim), nn.GELU(), nn.Linear(dim, dim), nn.GELU())
        self.class_head = nn.Linear(dim, 10)
        self.ink_head = nn.Sequential(nn.Linear(dim, 16), nn.GELU(), nn.Linear(16, 1))

    def forward(self, x):
        h = self.body(x)
        return self.class_head(h), self.ink_head(h).squeeze(1)


def load_weights(model, weights, forget):
    """Loads the model; a forgotten head keeps its first values."""
    if forget == "ink_head":
        weights = {k: v for k, v in weights.items() if not k.startswith("ink_head.")}
        missing, unexpected = model.load_state_dict(weights, strict=False)
        if unexpected:
            raise KeyError(f"unexpected weights: {unexpected}")
        print(f"loaded; {len(missing)} weights not in the file")
        return
    model.load_state_dict(weights)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--save-at", type=int, default=10)
    parser.add_argument("--out")
    parser.add_argument("--resume")
    parser.add_argument("--forget", choices=["none", "ink_head"], default="none")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    digits = load_digits()
    x = torch.tensor(digits.data, dtype=torch.float32) / 16.0
    y = torch.tensor(digits.target)
    ink = x.mean(1)
    ink = (ink - ink.mean()) / ink.std()
    model = TwoHeads()
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    generator = torch.Generator().manual_seed(args.seed)
    first = 0
    if args.resume:
        checkpoint = torch.load(args.resume)
        load_weights(model, checkpoint["model"], args.forget)
        optimizer.load_state_dict(checkpoint["optimizer"])
        generator.set_state(checkpoint["generator"])
        first = checkpoint["step"]

    for step in range(first, args.steps):
        if args.out and not args.resume and step == args.save_at:
            torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict(),
                        "generator": generator.get_state()}, args.out)
        i = torch.randint(0, len(x), (48,), generator=generator)
        logits, amount = model(x[i])
        digit_loss = F.cross_entropy(logits, y[i])
        ink_loss = F.mse_loss(amount, ink[i])
        loss = digit_loss + ink_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.8f} digit {digit_loss.item():.8f} ink {ink_loss.item():.8f}")

    print("weight sum", repr(sum(p.double().sum().item() for p in model.parameters())))


if __name__ == "__main__":
    main()
