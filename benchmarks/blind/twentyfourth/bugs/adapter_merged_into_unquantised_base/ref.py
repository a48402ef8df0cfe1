"""Low-rank adapters on a frozen base with 3-bit weights, merged after training."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, SEQ, DIM = 24, 10, 48


def fake_quant(weight, bits):
    """Symmetric, one scale per row."""
    top = 2 ** (bits - 1) - 1
    scale = weight.abs().amax(dim=1, keepdim=True) / top
    return scale * torch.clamp(torch.round(weight / scale), -top, top)


class LowRankLinear(nn.Module):
    def __init__(self, linear, rank, bits, scaling=2.0):
        super().__init__()
        self.bits, self.scaling, self.merged = bits, scaling, False
        self.register_buffer("weight", linear.weight.detach().clone())
        self.register_buffer("bias", linear.bias.detach().clone())
        self.lora_a = nn.Parameter(torch.randn(rank, linear.in_features) / math.sqrt(linear.in_features))
        self.lora_b = nn.Parameter(torch.zeros(linear.out_features, rank))

    def frozen_weight(self):
        return fake_quant(self.weight, self.bits)

    def delta(self):
        return self.scaling * self.lora_b @ self.lora_a

    def forward(self, x):
        if self.merged:
            return F.linear(x, self.weight, self.bias)
        return F.linear(x, self.frozen_weight() + self.delta(), self.bias)

    @torch.no_grad()
    def merge(self):
        self.weight = self.frozen_weight() + self.delta()
        self.merged = True


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.up, self.down = nn.Linear(2 * DIM, 3 * DIM), nn.Linear(3 * DIM, DIM)
        self.head = nn.Linear(DIM, VOCAB)

    def forward(self, ids):
        x = self.embed(ids)
        x = torch.cat([x, F.pad(x, (0, 0, 1, 0))[:, :-1]], dim=-1)
        return self.head(self.down(F.gelu(self.up(x))))


def sequences(rows, step_from, gen):
    start = torch.randint(0, VOCAB, (rows, 1), generator=gen)
    stride = torch.randint(step_from, step_from + 4, (rows, 1), generator=gen)
    return (start + stride * torch.arange(SEQ)) % VOCAB


def lm_loss(model, ids):
    return F.cross_entropy(model(ids[:, :-1])[:, 1:].flatten(0, 1), ids[:, 2:].flatten())


def fit(model, params, lr, steps, step_from, gen):
    optimizer = torch.optim.AdamW(params, lr=lr, weight_decay=0.0)
    for step in range(steps):
        loss = lm_loss(model, sequences(48, step_from, gen))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print(f"step {step} loss {loss.item():.4f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=160)
    parser.add_argument("--bits", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = Net()
    fit(model, model.parameters(), 5e-3, 120, 1, gen)                 # the base in full precision
    model.requires_grad_(False)
    for name in ("up", "down", "head"):
        setattr(model, name, LowRankLinear(getattr(model, name), 8, args.bits))
    fit(model, [p for p in model.parameters() if p.requires_grad], args.lr, args.steps, 3, gen)
    test = sequences(256, 3, torch.Generator().manual_seed(808))
    with torch.no_grad():
        before, logits = lm_loss(model, test).item(), model(test)
        for module in model.modules():
            if isinstance(module, LowRankLinear):
                module.merge()
        after, moved = lm_loss(model, test).item(), (model(test) - logits).abs().max().item()
    print(f"EVIDENCE loss_before_merge={before:.4f} loss_after_merge={after:.4f} logits_moved={moved:.5f}")


if __name__ == "__main__":
    main()
