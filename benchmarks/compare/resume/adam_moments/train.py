"""Next-character model (GRU) trained with AdamW; the optimizer has moments."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

TEXT = ("the cat sat on the mat and the dog lay by the door while the rain fell on the roof "
        "and the wind blew through the trees behind the old house on the hill ") * 6
CHARS = sorted(set(TEXT))


class CharGRU(nn.Module):
    def __init__(self, dim=40):
        super().__init__()
        self.embed = nn.Embedding(len(CHARS), dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, len(CHARS))

    def forward(self, ids):
        return self.out(self.gru(self.embed(ids))[0])


def batch_at(data, step, seed):
    """The batch depends on the step and the seed only."""
    generator = torch.Generator().manual_seed(100_003 * seed + step)
    starts = torch.randint(0, len(data) - 33, (16,), generator=generator)
    rows = torch.stack([data[s:s + 33] for s in starts])
    return rows[:, :-1], rows[:, 1:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--save-at", type=int, default=10)
    parser.add_argument("--out")
    parser.add_argument("--resume")
    parser.add_argument("--forget", choices=["none", "optimizer"], default="none")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    data = torch.tensor([CHARS.index(c) for c in TEXT])
    model = CharGRU()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.05)
    first = 0
    if args.resume:
        checkpoint = torch.load(args.resume)
        model.load_state_dict(checkpoint["model"])
        if args.forget != "optimizer":
            optimizer.load_state_dict(checkpoint["optimizer"])
        first = checkpoint["step"]

    for step in range(first, args.steps):
        if args.out and not args.resume and step == args.save_at:
            torch.save({"step": step, "model": model.state_dict(),
                        "optimizer": optimizer.state_dict()}, args.out)
        x, y = batch_at(data, step, args.seed)
        loss = F.cross_entropy(model(x).transpose(1, 2), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print(f"step {step} loss {loss.item():.8f}")

    print("weight sum", repr(sum(p.double().sum().item() for p in model.parameters())))


if __name__ == "__main__":
    main()
