"""Characters with Muon on the matrices of the body and AdamW on the rest, both warmed up to rates of their own."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

TEXT = ("the cat sat on the mat and the dog lay on the log while the frog in the bog sang a song "
        "to the moon over the dune and the loon by the lagoon slept until noon ") * 8
CHARS = sorted(set(TEXT))


@torch.no_grad()
def orthogonalise(m, steps=5):
    a, b, c = 3.4445, -4.7750, 2.0315
    x = m / (m.norm() + 1e-7)
    flip = x.shape[0] > x.shape[1]
    x = x.T if flip else x
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if flip else x


class MuonWithAdam(torch.optim.Optimizer):
    """Groups with use_muon take orthogonalised momentum, the others AdamW."""

    def __init__(self, groups):
        super().__init__(groups, dict(lr=1e-3, use_muon=False, momentum=0.95, betas=(0.9, 0.99), weight_decay=0.0))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                p.mul_(1 - group["lr"] * group["weight_decay"])
                if group["use_muon"]:
                    self.muon_update(p, state, group)
                else:
                    self.adam_update(p, state, group)

    def muon_update(self, p, state, group):
        buffer = state.setdefault("momentum", torch.zeros_like(p))
        buffer.mul_(group["momentum"]).add_(p.grad)
        update = p.grad.add(buffer, alpha=group["momentum"])
        p.add_(orthogonalise(update), alpha=-group["lr"] * max(1, p.shape[0] / p.shape[1]) ** 0.5)

    def adam_update(self, p, state, group):
        state["step"] = state.get("step", 0) + 1
        m, v = state.setdefault("m", torch.zeros_like(p)), state.setdefault("v", torch.zeros_like(p))
        b1, b2 = group["betas"]
        m.lerp_(p.grad, 1 - b1)
        v.mul_(b2).addcmul_(p.grad, p.grad, value=1 - b2)
        scale = (v / (1 - b2 ** state["step"])).sqrt() + 1e-8
        p.addcdiv_(m / (1 - b1 ** state["step"]), scale, value=-group["lr"])


class WarmupLR:
    def __init__(self, optimizer, warmup_steps, max_lr=None):
        self.optimizer, self.warmup_steps, self.steps = optimizer, warmup_steps, 0
        if max_lr is None:
            max_lr = [group["lr"] for group in optimizer.param_groups]
        self.max_lrs = max_lr if isinstance(max_lr, list) else [max_lr] * len(optimizer.param_groups)
        self.step()

    def step(self):
        self.steps += 1
        share = min(1.0, self.steps / self.warmup_steps)
        for group, max_lr in zip(self.optimizer.param_groups, self.max_lrs):
            group["lr"] = share * max_lr


class CharNet(nn.Module):
    def __init__(self, dim=64, context=12):
        super().__init__()
        self.embed = nn.Embedding(len(CHARS), 16)
        self.inp = nn.Linear(16 * context, dim)
        self.body = nn.ModuleList(nn.Linear(dim, dim) for _ in range(3))
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(3))
        self.out = nn.Linear(dim, len(CHARS))

    def forward(self, x):
        h = self.inp(self.embed(x).flatten(1))
        for norm, layer in zip(self.norms, self.body):
            h = h + torch.relu(layer(norm(h)))
        return self.out(h)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=150)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    data = torch.tensor([CHARS.index(c) for c in TEXT])
    net = CharNet()
    matrices = [layer.weight for layer in net.body]
    ids = {id(p) for p in matrices}
    rest = [p for p in net.parameters() if id(p) not in ids]
    optimizer = MuonWithAdam([
        {"params": matrices, "lr": 10 * args.lr, "use_muon": True},
        {"params": rest, "lr": args.lr, "weight_decay": 0.01},
    ])
    warmup = WarmupLR(optimizer, 20)
    start = [m.clone() for m in matrices]
    turns = []
    for step in range(args.steps):
        at = torch.randint(0, len(data) - 13, (64,), generator=gen)
        window = data[at[:, None] + torch.arange(13)]
        loss = F.cross_entropy(net(window[:, :12]), window[:, 12])
        net.zero_grad()
        loss.backward()
        before = matrices[0].detach().clone()
        optimizer.step()
        moved = (matrices[0].detach() - before).flatten()
        if turns:
            turns[-1] = F.cosine_similarity(turns[-1], moved, dim=0).item()
        turns.append(moved)
        warmup.step()
        if step % 30 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    steady = sum(turns[20:-1]) / len(turns[20:-1])
    travelled = sum((m - s).norm().item() for m, s in zip(matrices, start))
    print(f"EVIDENCE cosine_of_updates={steady:.3f} rates={[round(g['lr'], 5) for g in optimizer.param_groups]}"
          f" travelled={travelled:.3f} loss={loss.item():.4f}")


if __name__ == "__main__":
    main()
