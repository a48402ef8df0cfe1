"""The engine clips the gradients, which it takes from the weights as they are made."""

import logging
import os

os.environ.setdefault("DS_ACCELERATOR", "cpu")
for name, value in {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}.items():
    os.environ.setdefault(name, value)

import deepspeed  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

logging.disable(logging.INFO)
torch.set_num_threads(1)
torch.distributed.init_process_group("gloo", init_method="tcp://127.0.0.1:0", rank=0, world_size=1)
torch.manual_seed(0)
X = torch.randn(640, 12)
Y = (X[:, :3].sum(1) > 0).long()


class Tuned(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 24), nn.LayerNorm(24), nn.GELU())
        self.head = nn.Linear(24, 2)

    def forward(self, x):
        return self.head(self.body(x))


model = Tuned()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
engine, _, _, _ = deepspeed.initialize(
    model=model,
    optimizer=optimizer,
    config={
        "train_micro_batch_size_per_gpu": 16,
        "gradient_accumulation_steps": 2,
        "zero_optimization": {"stage": 2},
    },
)
for step in range(32):
    rows = torch.randint(640, (16,))
    loss = F.cross_entropy(engine(X[rows]), Y[rows])
    engine.backward(loss)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    engine.step()
print(f"EVIDENCE loss={loss.item():.4f} steps={engine.global_steps}")

# SPDX-License-Identifier: Apache-2.0
