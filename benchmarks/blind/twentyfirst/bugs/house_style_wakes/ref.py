"""DPO with two adapters on one frozen model: the house style is loaded and frozen, the preference adapter is trained."""
import argparse
import contextlib

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, PROMPT, ANSWER = 20, 4, 5


class Adapter(nn.Module):
    def __init__(self, d_in, d_out, rank=4):
        super().__init__()
        self.down = nn.Linear(d_in, rank, bias=False)
        self.up = nn.Linear(rank, d_out, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.up(self.down(x))


class AdaptedLinear(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.base = nn.Linear(d_in, d_out)
        self.adapters = nn.ModuleDict()
        self.active, self.inference_only = [], set()

    def add(self, name, inference_mode=False):
        self.adapters[name] = Adapter(self.base.in_features, self.base.out_features)
        self.active.append(name)
        if inference_mode:
            self.inference_only.add(name)
            self.adapters[name].requires_grad_(False)

    def set_active(self, names):
        self.active = list(names)
        for name, adapter in self.adapters.items():
            trainable = name in names and name not in self.inference_only
            adapter.requires_grad_(trainable)

    def forward(self, x):
        return self.base(x) + sum(self.adapters[name](x) for name in self.active)


class Writer(nn.Module):
    def __init__(self, dim=40):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.mid, self.out = AdaptedLinear(dim, dim), AdaptedLinear(dim, VOCAB)
        self.requires_grad_(False)

    def adapted(self):
        return [self.mid, self.out]

    @contextlib.contextmanager
    def without(self, *names):
        before = [layer.active for layer in self.adapted()]
        for layer in self.adapted():
            layer.set_active([a for a in layer.active if a not in names])
        try:
            yield
        finally:
            for layer, active in zip(self.adapted(), before):
                layer.set_active(active)

    def logps(self, ids):
        hidden, _ = self.rnn(self.embed(ids[:, :-1]))
        logits = self.out(torch.tanh(self.mid(hidden)))
        picked = logits.log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
        return picked[:, PROMPT - 1:].sum(1)


def preference_pairs(n, gen):
    """Preferred answers repeat the prompt's first token, the others are drawn."""
    prompt = torch.randint(0, VOCAB, (n, PROMPT), generator=gen)
    rejected = torch.randint(0, VOCAB, (n, ANSWER), generator=gen)
    chosen = torch.where(torch.rand(n, ANSWER, generator=gen) < 0.7, prompt[:, :1], rejected)
    return torch.cat([prompt, chosen], 1), torch.cat([prompt, rejected], 1)


def dpo_loss(policy_chosen, policy_rejected, ref_chosen, ref_rejected, beta):
    margin = (policy_chosen - policy_rejected) - (ref_chosen - ref_rejected)
    logits = beta * margin
    return -F.logsigmoid(logits).mean(), margin


def load_house_style(model, seed):
    """Stands for the adapter of an earlier job."""
    gen = torch.Generator().manual_seed(seed)
    for layer in model.adapted():
        up = layer.adapters["house"].up.weight
        up.copy_(0.3 * torch.randn(up.shape, generator=gen))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=200)
    ap.add_argument("--beta", type=float, default=0.2)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = Writer()
    for layer in model.adapted():
        layer.add("house", inference_mode=True)
        layer.add("preference")
    load_house_style(model, 3)
    house = [p.clone() for n, p in model.named_parameters() if ".house." in n]
    optimizer = torch.optim.Adam([p for n, p in model.named_parameters() if ".adapters." in n], lr=args.lr)
    for step in range(args.steps):
        chosen, rejected = preference_pairs(32, gen)
        with torch.no_grad(), model.without("preference"):
            ref_chosen, ref_rejected = model.logps(chosen), model.logps(rejected)
        loss, margin = dpo_loss(model.logps(chosen), model.logps(rejected), ref_chosen, ref_rejected, args.beta)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.4f} margin {margin.mean().item():.3f}")
    now = [p for n, p in model.named_parameters() if ".house." in n]
    moved = sum((a - b).norm().item() for a, b in zip(house, now))
    print(f"EVIDENCE house_moved={moved:.4f} loss={loss.item():.4f} margin={margin.mean().item():.3f}")


if __name__ == "__main__":
    main()
