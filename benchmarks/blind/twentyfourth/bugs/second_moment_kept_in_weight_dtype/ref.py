"""bf16 language model with a hand-written AdamW: master weights and both moments are kept in float32."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, SEQ = 40, 14


class MasterAdamW(torch.optim.Optimizer):
    def __init__(self, params, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["master"] = p.detach().float().clone()
                    state["exp_avg"] = torch.zeros_like(state["master"])
                    state["exp_avg_sq"] = torch.zeros_like(state["master"])
                grad, master = p.grad.float(), state["master"]
                state["step"] += 1
                exp_avg = state["exp_avg"] * beta1 + grad * (1 - beta1)
                exp_avg_sq = state["exp_avg_sq"] * beta2 + grad.square() * (1 - beta2)
                denom = (exp_avg_sq / (1 - beta2 ** state["step"])).sqrt().add_(group["eps"])
                master.mul_(1 - group["lr"] * group["weight_decay"])
                master.addcdiv_(exp_avg / (1 - beta1 ** state["step"]), denom, value=-group["lr"])
                # write back
                state["exp_avg"].copy_(exp_avg)
                state["exp_avg_sq"].copy_(exp_avg_sq)
                p.copy_(master)


class CharModel(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.mix = nn.Linear(3 * dim, 2 * dim)
        self.out = nn.Linear(2 * dim, VOCAB)

    def forward(self, ids):
        x = self.embed(ids)
        back1, back2 = F.pad(x, (0, 0, 1, 0))[:, :-1], F.pad(x, (0, 0, 2, 0))[:, :-2]
        return self.out(F.gelu(self.mix(torch.cat([x, back1, back2], dim=-1))))


def batch_of(rows, gen):
    start = torch.randint(0, VOCAB, (rows, 2), generator=gen)
    ids = [start[:, 0], start[:, 1]]
    for _ in range(SEQ - 1):
        ids.append((ids[-1] + ids[-2]) % VOCAB)
    return torch.stack(ids, dim=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=250)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = CharModel().to(torch.bfloat16)
    optimizer = MasterAdamW(model.parameters(), lr=args.lr)
    watched = model.out.weight
    exact = torch.zeros_like(watched, dtype=torch.float64)
    for step in range(1, args.steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = args.lr * min(1.0, step / 15)
        ids = batch_of(32, gen)
        loss = F.cross_entropy(model(ids[:, :-1]).float()[:, 1:].flatten(0, 1), ids[:, 2:].flatten())
        model.zero_grad()
        loss.backward()
        exact = exact * 0.999 + watched.grad.double().square() * 0.001
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    kept = optimizer.state[watched]["exp_avg_sq"].double()
    error = ((kept - exact).abs().sum() / exact.sum()).item()
    assert math.isfinite(loss.item())
    print(f"EVIDENCE second_moment_error={error:.6f} loss={loss.item():.4f}")


if __name__ == "__main__":
    main()
