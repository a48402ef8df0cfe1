"""Preference tuning of a slogan writer that was tuned with LoRA before: SFT adapter, then DPO."""
import argparse
import contextlib

import torch
from torch import nn
import torch.nn.functional as F

VOCAB, LENGTH, TOPICS = 20, 6, 5


class AdapterLinear(nn.Module):
    """Linear layer with named low-rank adapters of which one or none is active."""

    def __init__(self, n_in, n_out, rank=8):
        super().__init__()
        self.base = nn.Linear(n_in, n_out)
        self.rank = rank
        self.down, self.up = nn.ParameterDict(), nn.ParameterDict()
        self.active = None

    def add(self, name, copy_of=None):
        if copy_of is None:
            self.down[name] = nn.Parameter(torch.randn(self.rank, self.base.in_features) * 0.1)
            self.up[name] = nn.Parameter(torch.zeros(self.base.out_features, self.rank))
        else:
            self.down[name] = nn.Parameter(self.down[copy_of].detach().clone(), requires_grad=False)
            self.up[name] = nn.Parameter(self.up[copy_of].detach().clone(), requires_grad=False)

    def forward(self, x):
        y = self.base(x)
        if self.active is not None:
            y = y + x @ self.down[self.active].T @ self.up[self.active].T
        return y


class SloganModel(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.topic = nn.Embedding(TOPICS, dim)
        self.word = nn.Embedding(VOCAB, dim)
        self.place = nn.Embedding(LENGTH, dim)
        self.mix = AdapterLinear(3 * dim, 96)
        self.head = AdapterLinear(96, VOCAB)

    def layers(self):
        return [self.mix, self.head]

    def set_adapter(self, name):
        for layer in self.layers():
            layer.active = name

    @contextlib.contextmanager
    def using(self, name):
        before = self.mix.active
        self.set_adapter(name)
        try:
            yield self
        finally:
            self.set_adapter(before)

    def logps(self, topic, words):
        prev = F.pad(self.word(words)[:, :-1], (0, 0, 1, 0))
        ctx = self.topic(topic)[:, None].expand_as(prev)
        place = self.place.weight.expand_as(prev)
        logits = self.head(torch.relu(self.mix(torch.cat([prev, ctx, place], -1))))
        return logits.log_softmax(-1).gather(-1, words[..., None]).squeeze(-1).sum(1)


def slogans(n, style, gen):
    topic = torch.randint(TOPICS, (n,), generator=gen)
    words = [(topic * 3 + torch.randint(2, (n,), generator=gen)) % VOCAB]
    for _ in range(LENGTH - 1):
        words.append((words[-1] + style + torch.randint(2, (n,), generator=gen)) % VOCAB)
    return topic, torch.stack(words, 1)


def fit(params, loss_fn, lr, steps):
    opt = torch.optim.Adam(params, lr=lr)
    for _ in range(steps):
        loss = loss_fn()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--steps", type=int, default=150)
    ap.add_argument("--beta", type=float, default=0.3)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = SloganModel()
    print("base", fit(model.parameters(), lambda: -model.logps(*slogans(64, 2, gen)).mean(), 3e-3, 200))
    model.requires_grad_(False)
    for layer in model.layers():
        layer.add("policy")
    model.set_adapter("policy")
    trained = [p for p in model.parameters() if p.requires_grad]
    print("sft", fit(trained, lambda: -model.logps(*slogans(64, 7, gen)).mean(), 5e-3, 250))
    for layer in model.layers():
        layer.add("sft", copy_of="policy")

    margins = []

    def dpo_loss():
        topic, chosen = slogans(64, 7, gen)
        rejected = torch.where(torch.rand(chosen.shape, generator=gen) < 0.3, (chosen + 1) % VOCAB, chosen)
        with torch.no_grad(), model.using("sft"):
            ref_chosen, ref_rejected = model.logps(topic, chosen), model.logps(topic, rejected)
        gain_chosen = model.logps(topic, chosen) - ref_chosen
        gain_rejected = model.logps(topic, rejected) - ref_rejected
        margins.append((gain_chosen - gain_rejected).abs().mean().item())
        return -F.logsigmoid(args.beta * (gain_chosen - gain_rejected)).mean()

    final = fit(trained, dpo_loss, args.lr, args.steps)
    topic, chosen = slogans(512, 7, gen)
    with torch.no_grad():
        moved = model.logps(topic, chosen)
        with model.using("sft"):
            moved = (moved - model.logps(topic, chosen)).abs().mean().item()
    print(f"EVIDENCE margin_at_first_step={margins[0]:.3f} dpo_loss={final:.3f} moved_from_sft={moved:.3f}")


if __name__ == "__main__":
    main()
