"""DeepSpeed, ZeRO 3: parameters split when they are made and gathered for each layer, evaluation, two ranks."""

import logging

import deepspeed
import torch
import torch.distributed as dist
import torch.nn as nn
from sklearn.datasets import load_digits

from options import options

BATCH = 24


class ConvNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.GroupNorm(4, width), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        )
        self.head = nn.Linear(8 * width, 10)
        self.criterion = nn.CrossEntropyLoss()

    def forward(self, x, y=None):
        out = self.head(self.features(x))
        return out if y is None else self.criterion(out, y)


def main():
    args = options(lr=3e-3, width=16, steps=30)
    torch.set_num_threads(1)
    deepspeed.init_distributed("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(args.seed)
    config = {
        "train_micro_batch_size_per_gpu": BATCH,
        "gradient_clipping": 2.0,
        "zero_optimization": {"stage": 3, "stage3_param_persistence_threshold": 0},
        "optimizer": {"type": "Adam", "params": {"lr": args.lr, "torch_adam": True}},
    }
    with deepspeed.zero.Init(config_dict_or_path=config):
        model = ConvNet(args.width)
    engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
    digits = load_digits()
    x = torch.tensor(digits.data, dtype=torch.float32).view(-1, 1, 8, 8) / 16
    y = torch.tensor(digits.target)
    test_x, test_y = x[1600 + rank :: world], y[1600 + rank :: world]
    draw = torch.Generator().manual_seed(args.seed)
    for step in range(args.steps):
        batch = torch.randperm(1600, generator=draw)[rank * BATCH : (rank + 1) * BATCH]
        loss = engine(x[batch], y[batch])
        engine.backward(loss)
        engine.step()
        if step % 10 == 9:
            engine.eval()
            with torch.no_grad():
                correct = (engine(test_x).argmax(1) == test_y).float().mean()
            engine.train()
            dist.all_reduce(correct)
            if rank == 0:
                print(f"step {step}: loss {loss.item():.3f}, accuracy {correct.item() / world:.3f}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    logging.disable(logging.INFO)
    main()

# SPDX-License-Identifier: Apache-2.0
