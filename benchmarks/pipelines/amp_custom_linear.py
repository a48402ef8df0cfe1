"""A hand-written linear layer (custom_fwd, custom_bwd) inside an autocast region."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

from options import options


class LinearFunction(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.bfloat16)
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return x.mm(weight.t()) + bias

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad.mm(weight), grad.t().mm(x), grad.sum(0)


class OurLinear(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs))
        self.bias = nn.Parameter(torch.zeros(outputs))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x):
        return LinearFunction.apply(x, self.weight, self.bias)


def run_epoch(model, x, y, batch, optimizer=None, scheduler=None):
    training = optimizer is not None
    model.train(training)
    correct = 0
    order = torch.randperm(len(x)) if training else torch.arange(len(x))
    with torch.set_grad_enabled(training):
        for idx in order.split(batch):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                logits = model(x[idx])
            loss = F.cross_entropy(logits.float(), y[idx])
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                scheduler.step()
            correct += (logits.argmax(1) == y[idx]).sum().item()
    return correct / len(x)


args = options(lr=0.1, width=64, steps=45)
torch.manual_seed(args.seed)
torch.set_num_threads(1)
digits = load_digits()
x, y = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
model = nn.Sequential(OurLinear(64, args.width), nn.ReLU(), nn.Dropout(0.1), OurLinear(args.width, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.98)
for epoch in range(max(2, args.steps // 15)):
    train = run_epoch(model, x[:1500], y[:1500], 100, optimizer, scheduler)
    test = run_epoch(model, x[1500:], y[1500:], 150)
    print(f"epoch {epoch}: accuracy {train:.3f}, test {test:.3f}")

# SPDX-License-Identifier: Apache-2.0
