"""huggingface/transformers pull request 34191: a mean for each micro-batch, though they hold different numbers of tokens."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "setups"))
import torch  # noqa: E402
import native  # noqa: E402

RUN = {"options": "--mode ddp --dp 2 --accumulate 2", "world": 2, "single": "bug", "names": ["nll_loss", "", "# wrong"]}


def batch_of(number, args, rank):
    tokens = batch_of_setup(number, args, rank)
    tokens = tokens.clone()
    for part in tokens.chunk(4 // args.dp)[::2]:  # the same rows are shorter on one device and on two
        part[:, -3:] = -100
    return tokens


def step(model, net, optimizer, number, args, rank):
    parts = batch_of(number, args, rank).chunk(args.accumulate)
    for i, tokens in enumerate(parts):
        with native.quiet(model, net, args, i == len(parts) - 1):
            logits = net(tokens[:, :-1].clamp(min=0))
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())  # wrong
            (loss / args.accumulate).backward()
    optimizer.step()
    optimizer.zero_grad()


batch_of_setup = native.batch_of
native.step = step


if __name__ == "__main__":
    native.main()

# SPDX-License-Identifier: Apache-2.0
