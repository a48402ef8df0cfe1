# SPDX-License-Identifier: Apache-2.0
"""A small training whose numbers any device computes exactly, so that its trace must not depend on the device (../same.py).

All numbers are integers, or such by powers of two, few enough that no sum rounds, in whatever order. Batches are of all dtypes, of sizes
around those that a look tells apart, in one piece and apart, and with numbers that are none. BENCH_DEVICE is the device (default cuda)."""
import os

import torch
import torch.nn.functional as F
from torch import nn

DEVICE, STEPS = torch.device(os.environ.get("BENCH_DEVICE", "cuda")), 4


def there(tensor):
    """On the device, as it lies here: with its strides."""
    found = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=DEVICE)
    found.copy_(tensor)
    return found


def integers(*shape, low=-8, high=8):
    return torch.randint(low, high, shape)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.layer, self.last = nn.Embedding(50, 16), nn.Linear(16, 8), nn.Linear(8, 4, dtype=torch.float64)
        self.register_buffer("large", integers(300_001).float())
        for p in self.parameters():
            p.data = integers(*p.shape).to(p.dtype) / 4

    def forward(self, ids, mask, *more):
        x = F.relu(self.layer(F.dropout(self.tokens(ids), 0.0)))
        x = x.masked_fill(mask, 0.0)
        self.large[-1] += 1
        return self.last(x.double()), F.relu(more[0])


def batch(step):
    numbers = [integers(64, 3, 40, 40).float(), integers(5, 20_000).double(), integers(300, 41).float()[:, ::2], integers(299, 40).bfloat16(),
               integers(40, 33).half() / 1024, torch.full((2000,), 0.5), torch.tensor([[0.0, -0.0], [float("inf"), 1.5]] * 9),
               torch.full((6, 5), float("nan")), torch.tensor(2.5)]
    counts = [integers(30, 40, low=-2**62, high=2**62), integers(30, 200, low=0, high=2**20 + step), torch.arange(6000) % 7 - 3,
              integers(40, 200) > 0, torch.arange(12_000, dtype=torch.int32).view(100, 120), torch.full((65_536,), -1),
              torch.full((700, 8), 5)[:, ::2], torch.zeros(70_000, dtype=torch.int16), integers(3, 5001, low=0, high=256).byte()[:, 1:],
              integers(17, 5).to(torch.int8), torch.ones(9, dtype=torch.bool), torch.arange(6).expand(5, 6).clone().t()]
    return [there(t) for t in (integers(4, 7, low=0, high=50), integers(4, 7, 8) > 0, *numbers, *counts)]


def main():
    torch.manual_seed(0)
    net = Net().to(DEVICE)
    rate = torch.tensor(0.125, device=DEVICE)
    optimizer = torch.optim.SGD(net.parameters(), lr=rate, foreach=False)
    scaler = torch.amp.GradScaler(DEVICE.type, init_scale=4.0, growth_interval=2)
    for step in range(STEPS):
        optimizer.zero_grad(set_to_none=step % 2 == 0)
        out, _ = net(*batch(step))
        F.relu(there(torch.full((300, 40), float("inf") if step == 1 else 2.0)))
        scaler.scale(out.sum().float() * (float("inf") if step == 2 else 1)).backward()
        scaler.unscale_(optimizer)
        for p in net.parameters() if step != 2 else ():
            p.grad.sign_()  # so that numbers stay short
        scaler.step(optimizer)
        scaler.update()
        rate.mul_(0.5)


if __name__ == "__main__":
    main()
