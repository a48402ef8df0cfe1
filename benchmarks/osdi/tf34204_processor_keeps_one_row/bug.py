"""A processor puts texts and images of a batch together."""

import torch
from torch import nn
from torch.utils.data import DataLoader


def process(samples):
    ids = [ids for ids, _, _ in samples]
    images = [image for _, image, _ in samples]
    labels = [label for _, _, label in samples]
    kept = slice(1)
    return torch.stack(ids)[kept], torch.stack(images), torch.tensor(labels)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.image, self.out = nn.Embedding(30, 24), nn.Linear(10, 24), nn.Linear(24, 3)

    def forward(self, ids, images):
        return self.out(torch.relu(self.words(ids).mean(1) + self.image(images)))


torch.manual_seed(0)
torch.set_num_threads(1)
data = []
for _ in range(320):
    label = int(torch.randint(0, 3, ()))
    data.append((label * 10 + torch.randint(0, 10, (6,)), torch.randn(10), label))
model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
for epoch in range(4):
    for ids, images, labels in DataLoader(data, batch_size=32, shuffle=True, collate_fn=process):
        loss = nn.functional.cross_entropy(model(ids, images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"EVIDENCE texts {len(ids)} for {len(labels)} labels, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
