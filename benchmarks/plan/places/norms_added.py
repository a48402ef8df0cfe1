"""For clipping the stages of a pipeline add their norms in the place of the squares of these."""
import torch
import torch.distributed as dist
import torch.nn.functional as F

from common import BATCH, LENGTH, VOCABULARY, WIDTH, arguments, receive_forward, send_forward, tokens_of, two_stages


def clip(parameters, args):
    total = torch.stack([parameter.grad.pow(2).sum() for parameter in parameters]).sum()
    if args.bug:
        total = total.sqrt()  # place
    if args.pp > 1:
        dist.all_reduce(total, group=args.group["pp"])  # place
    norm = total if args.bug else total.sqrt()
    for parameter in parameters:
        parameter.grad.mul_((0.5 / (norm + 1e-6)).clamp(max=1.0))  # place


def main():
    args = arguments("pp")
    torch.manual_seed(1)
    model = two_stages(args)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        tokens, targets = tokens_of(step, VOCABULARY, BATCH, LENGTH)
        optimizer.zero_grad()
        if "embed" in model:
            x = torch.tanh(model["first"](model["embed"](tokens)))
        if args.pp > 1 and args.rank == 0:
            send_forward(x, 1)
        else:
            if args.pp > 1:
                x = receive_forward((*tokens.shape, WIDTH), 0)
            logits = model["head"](torch.tanh(model["second"](x)))
            F.cross_entropy(logits.flatten(0, 1), targets.flatten()).backward()
            if args.pp > 1:
                dist.send(x.grad, 0)
        clip(list(model.parameters()), args)
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
