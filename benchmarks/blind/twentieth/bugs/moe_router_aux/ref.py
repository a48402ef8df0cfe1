"""Mixture of experts for parcel routing codes: top-1 gate with a load balancing term."""
import argparse

import torch
from torch import nn
import torch.nn.functional as F

EXPERTS = 6
DEPOTS = 12


class AttachAuxLoss(torch.autograd.Function):
    """Identity on the gate weights; in the backward pass the auxiliary loss gets its gradient."""

    @staticmethod
    def forward(ctx, weights, aux_loss):
        ctx.save_for_backward(aux_loss)
        return weights.clone()

    @staticmethod
    def backward(ctx, grad_weights):
        (aux_loss,) = ctx.saved_tensors
        return grad_weights, torch.ones_like(aux_loss)


class Gate(nn.Module):
    def __init__(self, dim, coeff):
        super().__init__()
        self.router = nn.Linear(dim, EXPERTS, bias=False)
        self.coeff = coeff
        self.last_load = None

    def balance_loss(self, probs, choice):
        load = F.one_hot(choice, EXPERTS).float().mean(0)
        self.last_load = load
        return EXPERTS * (load * probs.mean(0)).sum()

    def forward(self, x):
        probs = self.router(x).softmax(-1)
        weights, choice = probs.max(-1)
        if self.training and self.coeff > 0:
            aux = self.balance_loss(probs, choice) * self.coeff
            weights = AttachAuxLoss.apply(weights, aux)
        return weights, choice


class MoE(nn.Module):
    def __init__(self, dim, coeff):
        super().__init__()
        self.gate = Gate(dim, coeff)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 32), nn.GELU(), nn.Linear(32, dim)) for _ in range(EXPERTS)
        )

    def forward(self, x):
        weights, choice = self.gate(x)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            picked = choice == i
            if picked.any():
                out[picked] = expert(x[picked]) * weights[picked, None]
        return x + out


class ParcelModel(nn.Module):
    def __init__(self, dim=24, coeff=0.05):
        super().__init__()
        self.encode = nn.Linear(10, dim)
        self.moe = MoE(dim, coeff)
        self.depot = nn.Linear(dim, DEPOTS)

    def forward(self, x):
        return self.depot(self.moe(torch.tanh(self.encode(x) + 0.6)))


def parcels(n, gen):
    fixed = torch.Generator().manual_seed(8)
    hubs = torch.randn(DEPOTS, 10, generator=fixed)
    depot = torch.randint(DEPOTS, (n,), generator=gen)
    return hubs[depot] + 0.7 * torch.randn(n, 10, generator=gen), depot


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=350)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = ParcelModel()
    with torch.no_grad():
        model.moe.gate.router.weight[0] += 0.25  # a router as found in a warm-started model: one favourite
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        x, depot = parcels(256, gen)
        loss = F.cross_entropy(model(x), depot)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 100 == 0:
            print(f"step {step} loss {loss.item():.4f} load {[round(v, 2) for v in model.moe.gate.last_load.tolist()]}")
    load = model.moe.gate.last_load
    entropy = -(load.clamp_min(1e-9).log() * load).sum().item()
    print(f"EVIDENCE busiest_expert={load.max().item():.3f} load_entropy={entropy:.3f} loss={loss.item():.3f}")


if __name__ == "__main__":
    main()
