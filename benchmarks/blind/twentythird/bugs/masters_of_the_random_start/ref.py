"""Continued training in bfloat16: the optimizer steps on float32 masters and copies them back to the model."""
import argparse
import io

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LENGTH = 20, 12


class Net(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.mix = nn.Linear(3 * width, 2 * width)
        self.hidden = nn.Linear(2 * width, width)
        self.head = nn.Linear(width, VOCAB)

    def forward(self, ids):
        x = self.embed(ids)
        past = torch.cat([F.pad(x, (0, 0, k, 0))[:, :x.shape[1]] for k in range(3)], dim=-1)
        return self.head(F.gelu(self.hidden(F.gelu(self.mix(past)))))


class MixedPrecisionOptimizer:
    """Keeps a float32 master of each bfloat16 parameter."""

    def __init__(self, params, inner, clip=1.0, **kwargs):
        self.model_params = [p for p in params if p.requires_grad]
        self.masters = [nn.Parameter(p.detach().float().clone()) for p in self.model_params]
        self.inner = inner(self.masters, **kwargs)
        self.clip = clip

    @torch.no_grad()
    def reload_model_params(self):
        for master, p in zip(self.masters, self.model_params):
            master.copy_(p.float())

    @torch.no_grad()
    def step(self):
        for master, p in zip(self.masters, self.model_params):
            master.grad = p.grad.float()
        norm = nn.utils.clip_grad_norm_(self.masters, self.clip)
        self.inner.step()
        for master, p in zip(self.masters, self.model_params):
            p.copy_(master)
        return norm.item()

    def zero_grad(self):
        for p in self.model_params:
            p.grad = None


def batch(gen, shift, size=32):
    """Each token is the sum of the two before it and of a shift that depends on the language."""
    ids = torch.randint(0, VOCAB, (size, LENGTH), generator=gen)
    for t in range(2, LENGTH):
        ids[:, t] = (ids[:, t - 1] + ids[:, t - 2] + shift) % VOCAB
    return ids


def loss_of(model, ids):
    logits = model(ids[:, :-1])[:, 1:].float()
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 2:].flatten())


def pretrain(seed, steps=250):
    torch.manual_seed(seed + 1)
    model, gen = Net(), torch.Generator().manual_seed(seed + 1)
    opt = torch.optim.AdamW(model.parameters(), lr=4e-3)
    for _ in range(steps):
        loss = loss_of(model, batch(gen, shift=0))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"pre-trained to {loss.item():.4f}")
    file = io.BytesIO()
    torch.save({"model": model.state_dict()}, file)
    file.seek(0)
    return file


def load_pretrained(model, optimizer, file):
    state = torch.load(file, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.reload_model_params()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=5e-4)
    p.add_argument("--steps", type=int, default=60)
    args = p.parse_args()
    torch.set_num_threads(1)
    file = pretrain(args.seed)
    torch.manual_seed(args.seed)
    model = Net().to(torch.bfloat16)
    optimizer = MixedPrecisionOptimizer(model.parameters(), torch.optim.AdamW, lr=args.lr, weight_decay=0.01)
    load_pretrained(model, optimizer, file)
    gen = torch.Generator().manual_seed(args.seed + 50)
    losses = []
    for step in range(args.steps):
        # three quarters old language, one quarter new
        ids = torch.cat([batch(gen, 0, 24), batch(gen, 3, 8)])
        loss = loss_of(model, ids)
        optimizer.zero_grad()
        loss.backward()
        norm = optimizer.step()
        losses.append(loss.item())
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.4f} norm {norm:.3f}")
    print(f"EVIDENCE first={losses[0]:.4f} second={losses[1]:.4f} last={sum(losses[-5:]) / 5:.4f}")


if __name__ == "__main__":
    main()
