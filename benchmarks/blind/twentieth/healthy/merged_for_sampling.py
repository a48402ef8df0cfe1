"""LoRA policy: the delta is folded in for sampling and the base is put back from a copy after it."""
import argparse
import contextlib

import torch
from torch import nn

GUESTS, ROOMS = 12, 9


class FoldedLinear(nn.Module):
    def __init__(self, n_in, n_out, rank=4, scale=2.0):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_out, n_in) / n_in ** 0.5, requires_grad=False)
        self.a = nn.Parameter(torch.randn(rank, n_in) * 0.2)
        self.b = nn.Parameter(torch.zeros(n_out, rank))
        self.scale, self.folded = scale, False

    def forward(self, x):
        y = x @ self.weight.T
        if not self.folded:
            y = y + self.scale * (x @ self.a.T @ self.b.T)
        return y


@contextlib.contextmanager
def folded(model):
    """The base comes back bit for bit, as it is restored and not computed by a subtraction."""
    layers = [m for m in model.modules() if isinstance(m, FoldedLinear)]
    kept = [layer.weight.detach().clone() for layer in layers]
    with torch.no_grad():
        for layer in layers:
            layer.weight += layer.scale * layer.b @ layer.a
            layer.folded = True
    try:
        yield model
    finally:
        with torch.no_grad():
            for layer, weight in zip(layers, kept):
                layer.weight.copy_(weight)
                layer.folded = False


class RoomPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.guest = nn.Embedding(GUESTS, 24).requires_grad_(False)
        self.l1, self.l2 = FoldedLinear(24, 48), FoldedLinear(48, ROOMS)

    def forward(self, guest):
        return self.l2(torch.relu(self.l1(self.guest(guest)))).log_softmax(-1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--steps", type=int, default=200)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    liking = torch.rand(GUESTS, ROOMS, generator=torch.Generator().manual_seed(2))
    policy = RoomPolicy()
    first = policy.l1.weight.clone()
    opt = torch.optim.Adam([p for p in policy.parameters() if p.requires_grad], lr=args.lr)
    for step in range(args.steps):
        guest = torch.randint(GUESTS, (96,), generator=gen)
        with torch.no_grad(), folded(policy):
            room = torch.multinomial(policy(guest).exp(), 1, generator=gen)
        reward = liking[guest].gather(1, room).squeeze(1)
        advantage = reward - liking[guest].mean(1)
        loss = -(policy(guest).gather(1, room).squeeze(1) * advantage).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 40 == 0:
            print(f"step {step} reward {reward.mean():.3f}")
    print(f"reward {reward.mean():.3f}, base unchanged: {torch.equal(first, policy.l1.weight)}")


if __name__ == "__main__":
    main()
