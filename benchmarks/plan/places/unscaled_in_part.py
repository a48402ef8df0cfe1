"""The loss is scaled, as for float16, and gradients are unscaled; those of the norm are forgotten where they are summed over
the tensor ranks."""
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from common import arguments, enter, leave, tokens_of

VOCABULARY, WIDTH, INNER, BATCH, LENGTH, SCALE = 17, 6, 10, 3, 5, 32


class Model(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.group = args.group.get("tp")
        self.embed, self.norm = nn.Embedding(VOCABULARY, WIDTH), nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, INNER // args.tp, bias=False), nn.Linear(INNER // args.tp, WIDTH, bias=False)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        x = self.embed(tokens)
        inner = F.silu(self.up(enter(self.norm(x), self.group)))
        return self.head(x + leave(self.down(inner), self.group))


def main():
    args = arguments("tp")
    torch.manual_seed(1)
    model = Model(args)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(4):
        tokens, targets = tokens_of(step, VOCABULARY, BATCH, LENGTH)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
        (loss * SCALE).backward()  # place
        for name, parameter in model.named_parameters():
            if not (args.bug and name.startswith("norm")):
                parameter.grad.div_(SCALE)  # place
            if args.tp > 1 and name.startswith("norm"):
                dist.all_reduce(parameter.grad, op=dist.ReduceOp.AVG, group=args.group["tp"])
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
