"""Each tensor rank adds the router's balance loss, whose gradient goes into a layer that sums over them: it is counted
once for each rank."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from common import arguments, enter, leave, tokens_of

VOCABULARY, WIDTH, EXPERTS, INNER, BATCH, LENGTH = 17, 6, 5, 9, 4, 7


class Layer(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args, self.group = args, args.group.get("tp")
        self.embed, self.router = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, EXPERTS, bias=False)
        self.up = nn.Parameter(torch.randn(EXPERTS, WIDTH, INNER // args.tp))
        self.down = nn.Parameter(torch.randn(EXPERTS, INNER // args.tp, WIDTH))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        embedded = self.embed(tokens).flatten(0, 1)
        x = enter(embedded, self.group)
        shares = torch.sigmoid(self.router(x))
        inner = torch.tanh(torch.einsum("tw,ewi->tei", x, self.up))
        out = leave(torch.einsum("tei,eiw,te->tw", inner, self.down, shares), self.group)
        balance = (shares.mean(0) ** 2).sum() * 0.3  # place
        return self.head(embedded + out), balance if self.args.bug else balance / self.args.tp


def main():
    args = arguments("tp")
    torch.manual_seed(1)
    model = Layer(args)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        tokens, targets = tokens_of(step, VOCABULARY, BATCH, LENGTH)
        optimizer.zero_grad()
        logits, balance = model(tokens)
        loss = F.cross_entropy(logits, targets.flatten()) + balance
        loss.backward()
        if args.tp > 1:
            torch.distributed.all_reduce(model.router.weight.grad, group=args.group["tp"])
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
