"""Row-parallel with the bias on the first rank alone, so the ranks run different programs; the other one halves its part."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from common import arguments, enter, leave, tokens_of

VOCABULARY, WIDTH, INNER, BATCH, LENGTH = 17, 6, 10, 3, 5


class Mlp(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args, self.group = args, args.group.get("tp")
        self.up, self.down = nn.Linear(WIDTH, INNER // args.tp, bias=False), nn.Linear(INNER // args.tp, WIDTH)

    def forward(self, x):
        inner = torch.tanh(self.up(enter(x, self.group)))
        if self.args.rank == 0:
            return leave(self.down(inner), self.group)
        part = F.linear(inner, self.down.weight) + 0 * self.down.bias
        if self.args.bug:
            part = part / 2  # place
        return leave(part, self.group)


def main():
    args = arguments("tp")
    torch.manual_seed(1)
    model = nn.Sequential(nn.Embedding(VOCABULARY, WIDTH), Mlp(args), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        tokens, targets = tokens_of(step, VOCABULARY, BATCH, LENGTH)
        optimizer.zero_grad()
        F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten()).backward()
        if args.tp > 1:
            torch.distributed.broadcast(model[1].down.bias.grad, 0, group=args.group["tp"])
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
