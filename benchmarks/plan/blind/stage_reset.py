"""NeMo Automodel #3530: between two batches of an accumulated step the pipeline's stages are set up anew, which drops
their gradients. Only the last batch trains."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

from parts import arguments

WIDTH, HIDDEN, CLASSES, ROWS, MICRO = 6, 10, 7, 4, 2


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x):
        return x + self.down(torch.sigmoid(self.up(x)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({str(i): Block() for i in range(4)})
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        for layer in self.layers.values():
            x = layer(x)
        return self.head(x) if self.head is not None else x


def loss_of(logits, targets):
    return F.cross_entropy(logits, targets)


def main():
    args = arguments("pp")
    torch.manual_seed(1)
    model = Model()
    if args.pp > 1:
        first = args.index["pp"] == 0
        for name in ("2", "3") if first else ("0", "1"):
            del model.layers[name]
        if first:
            model.head = None
        given = torch.zeros(ROWS // MICRO, WIDTH, requires_grad=not first)
        made = torch.zeros(ROWS // MICRO, WIDTH if first else CLASSES, requires_grad=True)
        stage = PipelineStage(model, args.index["pp"], args.pp, torch.device("cpu"), input_args=(given,), output_args=(made,))
        schedule = ScheduleGPipe(stage, MICRO, loss_fn=lambda *both: loss_of(*both) / MICRO, scale_grads=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        generator = torch.Generator().manual_seed(step)
        optimizer.zero_grad()
        for batch in range(2):
            x = torch.randn(ROWS, WIDTH, generator=generator)
            y = torch.randint(CLASSES, (ROWS,), generator=generator)
            if args.pp == 1:
                loss_of(model(x), y).backward()
                continue
            if args.bug and batch > 0:
                optimizer.zero_grad()
            if args.index["pp"] == 0:
                schedule.step(x)
            else:
                schedule.step(target=y)  # place
        optimizer.step()  # place


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
