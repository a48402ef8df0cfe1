"""DeepSpeed without ZeRO: a frozen backbone in evaluation mode, two groups of a new head, a loader that the engine makes."""

import logging

import deepspeed
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_wine
from torch.utils.data import TensorDataset

from options import options

BATCH = 12


class Tuned(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(13, 2 * width), nn.BatchNorm1d(2 * width), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, 3))
        self.backbone.requires_grad_(False)

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x):
        return self.head(self.backbone(x))


def main():
    args = options(lr=5e-3, width=16, steps=30)
    torch.set_num_threads(1)
    deepspeed.init_distributed("gloo")
    torch.manual_seed(args.seed)
    wine = load_wine()
    x = torch.tensor(wine.data, dtype=torch.float32)
    data = TensorDataset((x - x.mean(0)) / x.std(0), torch.tensor(wine.target))
    model = Tuned(args.width)
    groups = [
        {"params": [p for p in model.head.parameters() if p.dim() > 1], "weight_decay": 0.05},
        {"params": [p for p in model.head.parameters() if p.dim() < 2], "weight_decay": 0.0},
    ]
    engine, _, loader, _ = deepspeed.initialize(
        model=model,
        optimizer=torch.optim.AdamW(groups, lr=args.lr),
        training_data=data,
        config={"train_micro_batch_size_per_gpu": BATCH, "gradient_clipping": 1.0},
    )
    done = epoch = 0
    while done < args.steps:
        engine.train()
        loader.data_sampler.set_epoch(epoch)
        epoch += 1
        for x, y in loader:
            loss = F.cross_entropy(engine(x), y)
            engine.backward(loss)
            engine.step()
            done += 1
        if dist.get_rank() == 0:
            print(f"step {done}: loss {loss.item():.3f}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    logging.disable(logging.INFO)
    main()

# SPDX-License-Identifier: Apache-2.0
