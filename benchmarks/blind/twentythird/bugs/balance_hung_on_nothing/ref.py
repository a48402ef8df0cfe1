"""A language model with a mixture of experts. The balance loss is hung on the gate's weights by an autograd function."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LENGTH, EXPERTS, TOP = 32, 14, 6, 2


class AuxLossScaler(torch.autograd.Function):
    """Hands its first input on and gives the auxiliary loss a gradient in the backward pass."""

    @staticmethod
    def forward(ctx, weights, aux_loss):
        ctx.save_for_backward(aux_loss)
        return weights.view_as(weights)

    @staticmethod
    def backward(ctx, grad):
        (aux_loss,) = ctx.saved_tensors
        return grad, torch.ones_like(aux_loss)


class Gate(nn.Module):
    def __init__(self, width, coefficient):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(EXPERTS, width))
        self.coefficient = coefficient
        self.last_balance = None
        nn.init.normal_(self.weight, std=3.0)

    def balance(self, scores, chosen):
        share = F.one_hot(chosen, EXPERTS).float().sum(1).mean(0) / TOP
        self.last_balance = (EXPERTS * (share * scores.mean(0)).sum()).item()
        return EXPERTS * (share * scores.mean(0)).sum()

    def forward(self, x):
        scores = F.linear(x, self.weight).softmax(-1)
        weights, chosen = scores.topk(TOP, dim=-1)
        weights = weights / weights.sum(-1, keepdim=True)
        if self.training and self.coefficient > 0:
            aux_loss = self.coefficient * self.balance(scores, chosen)
            weights = AuxLossScaler.apply(weights, aux_loss)
        return weights, chosen


class MoE(nn.Module):
    def __init__(self, width, coefficient):
        super().__init__()
        self.gate = Gate(width, coefficient)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(width, 48), nn.SiLU(), nn.Linear(48, width))
                                     for _ in range(EXPERTS))

    def forward(self, x):
        flat = x.flatten(0, 1)
        weights, chosen = self.gate(flat)
        out = torch.zeros_like(flat)
        for e, expert in enumerate(self.experts):
            rows, slot = (chosen == e).nonzero(as_tuple=True)
            if len(rows):
                out = out.index_add(0, rows, expert(flat[rows]) * weights[rows, slot, None])
        return out.view_as(x)


class Model(nn.Module):
    def __init__(self, width=40, coefficient=0.1):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.rnns = nn.ModuleList(nn.GRU(width, width, batch_first=True) for _ in range(2))
        self.moes = nn.ModuleList(MoE(width, coefficient) for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.head = nn.Linear(width, VOCAB)

    def forward(self, ids):
        x = self.embed(ids)
        for rnn, moe, norm in zip(self.rnns, self.moes, self.norms):
            x = x + rnn(x)[0]
            x = x + moe(norm(x))
        return self.head(x)


def make_batch(gen, size=16):
    """Most rows count in ones, few in other strides: the data itself is not balanced."""
    stride = torch.where(torch.rand(size, 1, generator=gen) < 0.7, 1, torch.randint(2, 9, (size, 1), generator=gen))
    return (torch.randint(0, VOCAB, (size, 1), generator=gen) + stride * torch.arange(LENGTH)) % VOCAB


@torch.no_grad()
def load_of_experts(model, gen):
    model.eval()
    counts = torch.zeros(2, EXPERTS)

    def count(i):
        def hook(module, inputs, output):
            counts[i] += torch.bincount(output[1].flatten(), minlength=EXPERTS)
        return hook

    hooks = [moe.gate.register_forward_hook(count(i)) for i, moe in enumerate(model.moes)]
    ids = make_batch(gen, 128)
    loss = F.cross_entropy(model(ids[:, :-1])[:, 1:].flatten(0, 1), ids[:, 2:].flatten()).item()
    for hook in hooks:
        hook.remove()
    share = counts / counts.sum(1, keepdim=True)
    return loss, share.max().item(), share.min().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        ids = make_batch(gen)
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 30 == 29:
            print(f"step {step + 1} loss {loss.item():.4f} balance " + " ".join(f"{m.gate.last_balance:.3f}" for m in model.moes))
    balance = sum(m.gate.last_balance for m in model.moes) / 2
    loss, most, least = load_of_experts(model, torch.Generator().manual_seed(8))
    print(f"EVIDENCE balance={balance:.4f} most={most:.3f} least={least:.3f} held_out={loss:.4f}")


if __name__ == "__main__":
    main()
