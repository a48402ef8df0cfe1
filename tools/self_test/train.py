# SPDX-License-Identifier: Apache-2.0
"""What `traincheck-check --self-test` judges: traced as it stands, and once more without the line that clears gradients."""
import torch

torch.manual_seed(0)
inputs = torch.randn(64, 4)
targets = inputs.sum(dim=1, keepdim=True)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(6):
    batch = slice(8 * step, 8 * step + 8)
    loss = torch.nn.functional.mse_loss(model(inputs[batch]), targets[batch])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
