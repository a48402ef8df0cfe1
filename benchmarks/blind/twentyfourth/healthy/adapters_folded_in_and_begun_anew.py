"""Training of full rank through low-rank updates: from time to time adapters are folded in, drawn anew, and their moments forgotten."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, SEQ = 22, 10


class RestartLinear(nn.Module):
    def __init__(self, linear, rank):
        super().__init__()
        self.base = linear.requires_grad_(False)
        self.lora_a = nn.Parameter(torch.empty(rank, linear.in_features))
        self.lora_b = nn.Parameter(torch.zeros(linear.out_features, rank))
        self.reset()

    @torch.no_grad()
    def reset(self):
        nn.init.normal_(self.lora_a, std=1 / math.sqrt(self.lora_a.shape[1]))
        self.lora_b.zero_()

    @torch.no_grad()
    def fold_in(self):
        self.base.weight += self.lora_b @ self.lora_a
        self.reset()

    def forward(self, x):
        return self.base(x) + (x @ self.lora_a.t()) @ self.lora_b.t()


class LM(nn.Module):
    def __init__(self, dim=40, rank=4):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.up, self.down = RestartLinear(nn.Linear(2 * dim, 4 * dim), rank), RestartLinear(nn.Linear(4 * dim, dim), rank)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        x = self.embed(ids)
        return self.head(self.down(F.gelu(self.up(torch.cat([x[:, 1:], x[:, :-1]], -1)))))


def restart(model, optimizer, step, warmup):
    """Fold in, forget the moments of the adapters, and let the rate rise again."""
    for module in model.modules():
        if isinstance(module, RestartLinear):
            module.fold_in()
            for p in (module.lora_a, module.lora_b):
                optimizer.state.pop(p, None)
    return step + warmup


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=8e-3)
    parser.add_argument("--steps", type=int, default=90)
    parser.add_argument("--every", type=int, default=25)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model, warmup = LM(), 5
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=args.lr, weight_decay=0.0)
    warm_until = warmup
    for step in range(args.steps):
        if step and step % args.every == 0:
            warm_until = restart(model, optimizer, step, warmup)
        for group in optimizer.param_groups:
            group["lr"] = args.lr * min(1.0, 1 - (warm_until - step - 1) / warmup)
        start = torch.randint(0, VOCAB, (32, 1), generator=gen)
        ids = (start + torch.randint(1, 6, (32, 1), generator=gen) * torch.arange(SEQ)) % VOCAB
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 2:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 15 == 0 or step == args.steps - 1:
            print(f"step {step} lr {optimizer.param_groups[0]['lr']:.2e} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
