"""A small language model in bfloat16 autocast with its own RMSNorm and SwiGLU as autograd Functions."""

import queue

import torch
import torch.nn.functional as F
from torch import nn

from options import options

CONTEXT = 24


class RMSNormFunction(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.bfloat16)
    def forward(ctx, x, weight):
        inv = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)
        ctx.save_for_backward(x, weight, inv)
        return (x * inv).to(x.dtype) * weight

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, grad):
        x, weight, inv = ctx.saved_tensors
        x, g = x.float(), grad.float() * weight.float()
        normed = x * inv
        dx = inv * (g - normed * (g * normed).mean(-1, keepdim=True))
        dw = (grad.float() * normed).flatten(0, -2).sum(0)
        return dx.to(grad.dtype), dw.to(weight.dtype)


class SwiGLU(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.bfloat16)
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return F.silu(gate) * up

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, grad):
        gate, up = ctx.saved_tensors
        s = torch.sigmoid(gate)
        silu = gate * s
        return grad * up * (s + silu * (1 - s)), grad * silu


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return RMSNormFunction.apply(x, self.weight)


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(dim), RMSNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.gate, self.up = nn.Linear(dim, 2 * dim, bias=False), nn.Linear(dim, 2 * dim, bias=False)
        self.down = nn.Linear(2 * dim, dim, bias=False)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (4, -1)).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).flatten(2))
        h = self.norm2(x)
        return x + self.down(SwiGLU.apply(self.gate(h), self.up(h)))


class LM(nn.Module):
    def __init__(self, dim, layers=2):
        super().__init__()
        self.embed, self.pos = nn.Embedding(128, dim), nn.Parameter(torch.zeros(CONTEXT, dim))
        self.layers = nn.ModuleList(Layer(dim) for _ in range(layers))
        self.norm, self.head = RMSNorm(dim), nn.Linear(dim, 128, bias=False)
        with torch.no_grad():
            for name, p in self.named_parameters():
                if p.dim() == 2:
                    p.normal_(0.0, 0.02)

    def forward(self, ids):
        x = self.embed(ids) + self.pos
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def main():
    args = options(lr=4e-3, width=32, steps=36)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    with open(queue.__file__) as f:
        data = torch.tensor([min(ord(c), 127) for c in f.read()])
    model = LM(args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95))
    warmup = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=5)
    decay = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=max(1, args.steps - 5))
    scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warmup, decay], milestones=[5])
    model.train()
    for step in range(args.steps):
        starts = torch.randint(len(data) - CONTEXT - 1, (16,))
        chunk = torch.stack([data[s : s + CONTEXT + 1] for s in starts])
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(chunk[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), chunk[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        if step % 12 == 0:
            print(f"step {step}: loss {loss.item():.3f}, norm {norm.item():.3f}")
    model.eval()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.cross_entropy(model(data[None, :CONTEXT]).flatten(0, 1), data[1 : CONTEXT + 1])
    print(f"last {loss.item():.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
