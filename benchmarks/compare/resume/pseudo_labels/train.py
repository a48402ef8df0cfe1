"""Semi-supervised digits: the network in evaluation mode labels the other pictures."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Linear(24 * 4, 10)

    def forward(self, x):
        return self.head(self.body(x).flatten(1))


def soft_labels(model, x):
    """Predictions with the running statistics of batch norm."""
    model.eval()
    with torch.no_grad():
        labels = model(x).softmax(-1)
    model.train()
    return labels


def load_checkpoint(path, forget, model, optimizer, generator):
    checkpoint = torch.load(path)
    weights = checkpoint["model"]
    if forget == "buffers":
        buffers = {name for name, _ in model.named_buffers()}
        weights = {k: v for k, v in weights.items() if k not in buffers}
        model.load_state_dict(weights, strict=False)
    else:
        model.load_state_dict(weights)
    optimizer.load_state_dict(checkpoint["optimizer"])
    generator.set_state(checkpoint["generator"])
    return checkpoint["step"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--save-at", type=int, default=10)
    parser.add_argument("--out")
    parser.add_argument("--resume")
    parser.add_argument("--forget", choices=["none", "buffers"], default="none",
                        help="buffers: running statistics of batch norm")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16.0
    y = torch.tensor(digits.target)
    labeled_x, labeled_y, other_x = x[:200], y[:200], x[200:1500]
    generator = torch.Generator().manual_seed(args.seed)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    start = 0
    if args.resume:
        start = load_checkpoint(args.resume, args.forget, model, optimizer, generator)

    model.train()
    for step in range(start, args.steps):
        if args.out and not args.resume and step == args.save_at:
            torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict(),
                        "generator": generator.get_state()}, args.out)
        i = torch.randint(0, len(labeled_x), (32,), generator=generator)
        j = torch.randint(0, len(other_x), (32,), generator=generator)
        targets = soft_labels(model, other_x[j])
        supervised = F.cross_entropy(model(labeled_x[i]), labeled_y[i])
        pseudo = F.cross_entropy(model(other_x[j]), targets)
        loss = supervised + 0.5 * pseudo
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.8f} supervised {supervised.item():.8f}")

    print("weight sum", repr(sum(p.double().sum().item() for p in model.parameters())))


if __name__ == "__main__":
    main()
