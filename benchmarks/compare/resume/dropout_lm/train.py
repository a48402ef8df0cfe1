"""Small transformer with dropout, on sums of two numbers written out."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

SYMBOLS = "0123456789+=."
WIDTH = 9


def encode(a, b):
    text = f"{a}+{b}={a + b}"
    return [SYMBOLS.index(c) for c in text.ljust(WIDTH, ".")]


class Adder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.token = nn.Embedding(len(SYMBOLS), dim)
        self.position = nn.Embedding(WIDTH, dim)
        self.drop = nn.Dropout(0.2)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.2, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(dim, len(SYMBOLS))

    def forward(self, ids):
        n = ids.size(1)
        mask = nn.Transformer.generate_square_subsequent_mask(n)
        h = self.drop(self.token(ids) + self.position(torch.arange(n)))
        return self.head(self.layers(h, mask=mask, is_causal=True))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--save-at", type=int, default=10)
    parser.add_argument("--out")
    parser.add_argument("--resume")
    parser.add_argument("--forget", choices=["none", "torch_rng"], default="none")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    model = Adder()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    data = torch.tensor([encode(a, b) for a in range(60) for b in range(60)])
    step = 0
    if args.resume:
        state = torch.load(args.resume)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
        if args.forget != "torch_rng":
            torch.set_rng_state(state["torch_rng"])

    while step < args.steps:
        if args.out and not args.resume and step == args.save_at:
            torch.save({
                "step": step,
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "torch_rng": torch.get_rng_state(),
            }, args.out)
        rows = data[(torch.arange(48) * 71 + 997 * step) % len(data)]
        logits = model(rows[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.8f}")
        step += 1

    print("weight sum", repr(sum(p.double().sum().item() for p in model.parameters())))


if __name__ == "__main__":
    main()
