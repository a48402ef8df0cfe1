"""A patch transformer with its matrices in bfloat16 and norms and head in float32, without autocast."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from options import options


class Norm(nn.LayerNorm):
    """Statistics and weights in float32, result as the input is."""

    def forward(self, x):
        return super().forward(x.float()).to(x.dtype)


class Block(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = Norm(width), Norm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        batch, patches, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, patches, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v)
        x = x + self.proj(mixed.transpose(1, 2).reshape(batch, patches, width))
        return x + self.mlp(self.norm2(x))


class PatchTransformer(nn.Module):
    def __init__(self, width, depth=2):
        super().__init__()
        self.patch = nn.Linear(4, width)
        self.position = nn.Parameter(0.02 * torch.randn(16, width))
        self.blocks = nn.Sequential(*[Block(width) for _ in range(depth)])
        self.norm, self.head = Norm(width), nn.Linear(width, 10)
        self.to(torch.bfloat16)
        for module in self.modules():
            if isinstance(module, Norm) or module is self.head:
                module.float()

    def forward(self, images):
        patches = F.unfold(images, 2, stride=2).transpose(1, 2).to(torch.bfloat16)
        x = self.blocks(self.patch(patches) + self.position)
        return self.head(self.norm(x).mean(dim=1).float())


def main():
    args = options(lr=6e-3, width=32, steps=75)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    digits = load_digits()
    x, y = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 8 - 1, torch.tensor(digits.target)
    loader = DataLoader(TensorDataset(x[:1440], y[:1440]), batch_size=96, shuffle=True)
    model = PatchTransformer(args.width)
    low = [p for p in model.parameters() if p.dtype == torch.bfloat16]
    full = [p for p in model.parameters() if p.dtype == torch.float32]
    optimizer = torch.optim.Adam([{"params": low}, {"params": full, "lr": args.lr / 2}], lr=args.lr, eps=1e-6)
    epochs = max(2, args.steps // len(loader))
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=max(1, epochs // 2), gamma=0.5)
    for epoch in range(epochs):
        for images, labels in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images), labels)
            loss.backward()
            nn.utils.clip_grad_norm_(low, 1.0)
            optimizer.step()
        scheduler.step()
        with torch.no_grad():
            accuracy = (model(x[1440:]).argmax(1) == y[1440:]).float().mean().item()
        print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
