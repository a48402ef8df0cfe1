"""Half-precision copy of the weights, full-precision masters, a loss scale kept by hand: gradients are large until they are divided."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, SEQ = 26, 10


class WordModel(nn.Module):
    def __init__(self, dim=40):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.hidden, self.out = nn.Linear(2 * dim, 96), nn.Linear(96, VOCAB)

    def forward(self, ids):
        x = self.embed(ids)
        x = torch.cat([x[:, 1:], x[:, :-1]], dim=-1)
        return self.out(F.relu(self.hidden(x)))


class MasterWeights:
    def __init__(self, model, lr, scale=2.0 ** 14, grow_every=12):
        self.half, self.master = model, copy.deepcopy(model).float()
        self.optimizer = torch.optim.AdamW(self.master.parameters(), lr=lr)
        self.scale, self.grow_every, self.good, self.skipped = scale, grow_every, 0, 0

    def step(self, loss):
        for p in self.half.parameters():
            p.grad = None
        (loss * self.scale).backward()
        grads = [p.grad.float() / self.scale for p in self.half.parameters()]
        if not all(torch.isfinite(g).all() for g in grads):
            # too large for half precision: this batch is left out, the scale goes down
            self.scale, self.good = self.scale / 2, 0
            self.skipped += 1
            return None
        for p, g in zip(self.master.parameters(), grads):
            p.grad = g
        norm = nn.utils.clip_grad_norm_(self.master.parameters(), 1.0)
        self.optimizer.step()
        with torch.no_grad():
            for low, high in zip(self.half.parameters(), self.master.parameters()):
                low.copy_(high)
        self.good += 1
        if self.good % self.grow_every == 0:
            self.scale *= 2
        return norm.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=6e-3)
    parser.add_argument("--steps", type=int, default=80)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    trainer = MasterWeights(WordModel().half(), args.lr)
    for step in range(args.steps):
        start = torch.randint(0, VOCAB, (32, 1), generator=gen)
        ids = (start + torch.randint(1, 5, (32, 1), generator=gen) * torch.arange(SEQ)) % VOCAB
        logits = trainer.half(ids[:, :-1]).float()
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 2:].flatten())
        norm = trainer.step(loss)
        if step % 16 == 0 or step == args.steps - 1:
            print(f"step {step} loss {loss.item():.4f} scale {trainer.scale:.0f} norm {norm} skipped {trainer.skipped}")


if __name__ == "__main__":
    main()
