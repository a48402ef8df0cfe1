"""ms-swift #9947: of log-probabilities over a split vocabulary the sum of exponentials is taken by an all_reduce of which
autograd knows nothing. Ranks that do not have the target get no gradient."""
import torch
import torch.distributed as dist
import torch.nn as nn

from parts import arguments, enter, leave

VOCABULARY, WIDTH, BATCH, LENGTH = 22, 6, 4, 7


class Model(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args = args
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.hidden = nn.Linear(WIDTH, 9)
        self.head = nn.Linear(9, VOCABULARY // args.tp, bias=False)

    def forward(self, tokens):
        x = torch.tanh(self.hidden(self.embed(tokens)))
        return self.head(enter(x, self.args.group.get("tp")))


def log_probability(logits, targets, args):
    part = logits.shape[-1]
    local = targets - args.index["tp"] * part
    outside = (local < 0) | (local >= part)
    picked = logits.gather(-1, local.masked_fill(outside, 0)[..., None]).squeeze(-1).masked_fill(outside, 0.0)
    total = logits.exp().sum(-1)
    if args.bug:
        total = total.detach()
        dist.all_reduce(total, group=args.group["tp"])
    else:
        total = leave(total, args.group.get("tp"))
    return leave(picked, args.group.get("tp")) - total.log()  # place


def main():
    args = arguments("tp")
    torch.manual_seed(1)
    model = Model(args)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(5):
        text = torch.arange(BATCH * (LENGTH + 1)).view(BATCH, -1) * (step + 2) % VOCABULARY
        advantages = torch.tensor([0.5, -1.0, 0.25, 2.0])[:, None]
        optimizer.zero_grad()
        loss = -(log_probability(model(text[:, :-1]), text[:, 1:], args) * advantages).mean()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
