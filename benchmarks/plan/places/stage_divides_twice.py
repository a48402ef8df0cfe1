"""The last stage of a pipeline written by hand divides the loss of each micro-batch by their number twice."""
import torch
import torch.nn.functional as F

from common import BATCH, LENGTH, VOCABULARY, WIDTH, arguments, receive_forward, send_forward, tokens_of, two_stages

MICRO = 3


def main():
    args = arguments("pp")
    torch.manual_seed(1)
    model = two_stages(args)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        tokens, targets = tokens_of(step, VOCABULARY, BATCH, LENGTH)
        optimizer.zero_grad()
        for some, wanted in zip(tokens.chunk(MICRO), targets.chunk(MICRO)):
            if "embed" in model:
                x = torch.tanh(model["first"](model["embed"](some)))
            if args.pp > 1 and args.rank == 0:
                send_forward(x, 1)
                continue
            if args.pp > 1:
                x = receive_forward((*some.shape, WIDTH), 0)
            logits = model["head"](torch.tanh(model["second"](x)))
            loss = F.cross_entropy(logits.flatten(0, 1), wanted.flatten()) / MICRO
            if args.bug:
                loss = loss / MICRO  # place
            loss.backward()
            if args.pp > 1:
                torch.distributed.send(x.grad, 0)
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
