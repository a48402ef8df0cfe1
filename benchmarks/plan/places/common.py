"""What the scripts of this folder share with those of blind/: groups, collectives; and a pipeline of two stages."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "blind"))
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.nn as nn  # noqa: E402
from parts import arguments, enter, leave  # noqa: E402, F401


VOCABULARY, WIDTH, BATCH, LENGTH = 17, 6, 9, 5  # of the pipelines


def two_stages(args):
    """The layers of this rank, or all of them."""
    model = nn.ModuleDict({"embed": nn.Embedding(VOCABULARY, WIDTH), "first": nn.Linear(WIDTH, WIDTH),
                           "second": nn.Linear(WIDTH, WIDTH), "head": nn.Linear(WIDTH, VOCABULARY)})
    if args.pp > 1:
        for name in ("second", "head") if args.rank == 0 else ("embed", "first"):
            del model[name]
    return model


def tokens_of(step, vocabulary, batch, length):
    """Inputs and targets."""
    text = torch.arange(batch * (length + 1)).view(batch, -1) * (step + 3) % vocabulary
    return text[:, :-1], text[:, 1:]


def send_forward(out, other):
    """Of the first stage: its output to the next one, which sends the gradient back."""
    dist.send(out.detach().contiguous(), other)
    grad = torch.empty_like(out)
    dist.recv(grad, other)
    out.backward(grad)


def receive_forward(shape, other):
    x = torch.empty(shape)
    dist.recv(x, other)
    return x.requires_grad_()


def average(parameters, group, ranks):
    for parameter in parameters:
        dist.all_reduce(parameter.grad, group=group)
        parameter.grad /= ranks

# SPDX-License-Identifier: Apache-2.0
