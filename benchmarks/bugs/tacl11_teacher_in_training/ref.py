"""Knowledge distillation: a wide teacher with dropout is trained first, then a small student learns its answers."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)
inputs = torch.randn(640, 20)
labels = (inputs[:, 0] * inputs[:, 1] > 0).long() + 2 * (inputs[:, 2] > 0).long()


class MLP(nn.Module):
    def __init__(self, width=48, dropout=0.0):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(width, 4))

    def forward(self, x):
        return self.body(x)


def batches():
    return zip(inputs.split(64), labels.split(64))


teacher, student = MLP(width=192, dropout=0.4), MLP()
optimizer = torch.optim.Adam(teacher.parameters(), lr=3e-3)
for epoch in range(8):
    for x, y in batches():
        optimizer.zero_grad()
        F.cross_entropy(teacher(x), y).backward()
        optimizer.step()

teacher.eval()
optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)
answers = []
for epoch in range(6):
    for x, y in batches():
        with torch.no_grad():
            target = F.softmax(teacher(x) / 2, dim=-1)
        optimizer.zero_grad()
        logits = student(x)
        soft = F.kl_div(F.log_softmax(logits / 2, dim=-1), target, reduction="batchmean") * 4
        loss = soft + 0.1 * F.cross_entropy(logits, y)
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        answers.append(teacher(inputs[:8]).sum().item())
print(f"EVIDENCE the teacher's answers to one batch differ by {max(answers) - min(answers):.4f}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
