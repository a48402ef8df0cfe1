"""DeepSpeed's pipeline engine: two stages, four micro-batches a batch, the loss on the last stage."""

import logging

import deepspeed
import torch
import torch.distributed as dist
import torch.nn as nn
from deepspeed.pipe import PipelineModule
from sklearn.datasets import load_digits
from torch.utils.data import TensorDataset

from options import options

BATCH, MICRO_BATCHES = 8, 4


def main():
    args = options(lr=3e-3, width=32, steps=16)
    torch.set_num_threads(1)
    deepspeed.init_distributed("gloo")
    torch.manual_seed(args.seed)
    digits = load_digits()
    data = TensorDataset(torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target))
    width = args.width
    layers = [nn.Linear(64, width), nn.GELU(), nn.LayerNorm(width), nn.Linear(width, width), nn.GELU(), nn.Linear(width, 10)]
    model = PipelineModule(layers=layers, num_stages=2, loss_fn=nn.CrossEntropyLoss(), partition_method="uniform")
    engine, _, _, _ = deepspeed.initialize(
        model=model,
        model_parameters=[p for p in model.parameters() if p.requires_grad],
        training_data=data,
        config={
            "train_micro_batch_size_per_gpu": BATCH,
            "gradient_accumulation_steps": MICRO_BATCHES,
            "optimizer": {"type": "Adam", "params": {"lr": args.lr, "torch_adam": True}},
        },
    )
    for step in range(args.steps):
        loss = engine.train_batch()
        if step % 5 == 4 and dist.get_rank() == 0:
            print(f"step {step}: loss {loss.item():.3f}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    logging.disable(logging.INFO)
    main()

# SPDX-License-Identifier: Apache-2.0
