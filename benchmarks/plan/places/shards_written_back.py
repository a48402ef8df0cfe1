"""An optimizer that shards a flat buffer writes the gathered weights back in the order in which the gradients were made,
which is not that of the buffer."""
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from common import arguments, tokens_of

VOCABULARY, WIDTH, BATCH, LENGTH = 17, 6, 8, 5


class Sharded(torch.optim.Optimizer):
    def __init__(self, parameters, args):
        self.args, self.parameters = args, list(parameters)
        super().__init__(self.parameters, {"lr": 0.1})

    def flat(self, tensors):
        whole = torch.cat([t.detach().flatten() for t in tensors])
        return F.pad(whole, (0, -len(whole) % self.args.dp))

    def step(self):
        dp, group = self.args.dp, self.args.group["dp"]
        gradient, weights = self.flat(p.grad for p in self.parameters), self.flat(self.parameters)
        mine = torch.empty(len(gradient) // dp)
        dist.reduce_scatter_tensor(mine, gradient, group=group)
        mine = weights.chunk(dp)[self.args.index["dp"]] - 0.1 / dp * mine
        dist.all_gather_into_tensor(weights, mine, group=group)
        order, at = self.parameters[::-1] if self.args.bug else self.parameters, 0
        with torch.no_grad():
            for parameter in order:
                parameter.copy_(weights[at:at + parameter.numel()].view_as(parameter))  # place
                at += parameter.numel()


def main():
    args = arguments("dp")
    torch.manual_seed(1)
    model = nn.Sequential(nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, 10), nn.Tanh(), nn.Linear(10, VOCABULARY))
    optimizer = Sharded(model.parameters(), args) if args.dp > 1 else torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        tokens, targets = (t.chunk(args.dp)[args.index["dp"]] for t in tokens_of(step, VOCABULARY, BATCH, LENGTH))
        optimizer.zero_grad()
        F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten()).backward()
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
