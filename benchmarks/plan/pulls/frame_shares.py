# SPDX-License-Identifier: Apache-2.0
"""Images and text: whole images are shared out over the ranks of cp, which divide the sequence; features are gathered,
put in the places of image tokens, and added once more after the first layer. Attention is by all-to-all over heads.
FSDP2 over the same ranks, whose average the backward of the loss undoes. Bugs:
gather_slice: the backward of the gather hands on the rank's slice of its own gradient: what others read gives none.
    https://github.com/NVIDIA-NeMo/Megatron-Bridge/pull/4784 and https://github.com/NVIDIA/Megatron-LM/issues/3816
loss_factor: the loss is summed over ranks with a backward that passes gradients on, and FSDP averages them.
    https://github.com/ByteDance-Seed/VeOmni/pull/1079
deep_features: the features that are added later are counted from the first one, not from the first of the shard.
    https://github.com/modelscope/ms-swift/pull/6514"""
import argparse

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as collectives
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

VOCABULARY, WIDTH, HEADS, HEAD, HIDDEN, BATCH, LENGTH, LAYERS = 31, 14, 9, 4, 17, 5, 33, 2
IMAGES, PATCHES, MIXED, PIXELS, VISION = 8, 6, 10, 7, 13
STARTS = ((2, 20), (9, 16), (0, 27), (6,), (19,))  # where images begin in each row


class GatherFeatures(torch.autograd.Function):
    """Features of all images, in order, of ranks that have unequal numbers of them."""
    @staticmethod
    def forward(ctx, x, counts, group, bug):
        ctx.counts, ctx.group, ctx.bug = counts, group, bug
        padded = F.pad(x, (0, 0) * (x.dim() - 1) + (0, max(counts) - x.size(0)))
        pieces = [torch.empty_like(padded) for _ in counts]
        dist.all_gather(pieces, padded.contiguous(), group=group)
        return torch.cat([p[:n] for p, n in zip(pieces, counts)])

    @staticmethod
    def backward(ctx, grad):
        if ctx.bug != "gather_slice":
            grad = grad.contiguous().clone()
            dist.all_reduce(grad, group=ctx.group)
        return grad.split(ctx.counts)[dist.get_rank(ctx.group)], None, None, None  # place gather_slice


class ReduceLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, loss, group, bug):
        ctx.size, ctx.bug = dist.get_world_size(group), bug
        loss = loss.clone()
        dist.all_reduce(loss, group=group)
        return loss

    @staticmethod
    def backward(ctx, grad):
        if ctx.bug == "loss_factor":
            return grad, None, None  # place loss_factor
        return grad * ctx.size, None, None  # place loss_factor


def exchange(x, group):
    return collectives.all_to_all_single_autograd(x.contiguous(), None, None, group)


def to_heads(x, group):
    """batch x share of tokens x heads x size: all tokens of a share of the heads."""
    size = dist.get_world_size(group)
    x = exchange(x.unflatten(2, (size, -1)).movedim(2, 0), group)
    return x.movedim(0, 1).flatten(1, 2)


def to_tokens(x, group):
    size = dist.get_world_size(group)
    x = exchange(x.unflatten(1, (size, -1)).movedim(1, 0), group)
    return x.movedim(0, 2).flatten(2, 3)


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.norm = nn.Linear(PIXELS, VISION), nn.LayerNorm(VISION)
        self.mix, self.unmix = nn.Linear(PATCHES, MIXED), nn.Linear(MIXED, PATCHES)
        self.project, self.deep = nn.Linear(VISION, WIDTH), nn.Linear(VISION, WIDTH)

    def forward(self, pixels):
        x = F.gelu(self.patch(pixels))
        deep = self.deep(x)
        x = x + self.unmix(F.gelu(self.mix(self.norm(x).mT))).mT
        return torch.stack((self.project(x), deep), 1)


class Block(nn.Module):
    def __init__(self, cp):
        super().__init__()
        self.cp, self.norm, self.norm2 = cp, nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.q, self.k, self.v = (nn.Linear(WIDTH, HEADS * HEAD) for _ in range(3))
        self.out = nn.Linear(HEADS * HEAD, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x):
        h = self.norm(x)
        q, k, v = (w(h).unflatten(-1, (HEADS, HEAD)) for w in (self.q, self.k, self.v))
        if self.cp:
            q, k, v = (to_heads(t, self.cp) for t in (q, k, v))
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)
        if self.cp:
            y = to_tokens(y, self.cp)
        x = x + self.out(y.flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, cp, bug):
        super().__init__()
        self.cp, self.bug, self.tower = cp, bug, Tower()
        self.embed, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block(cp) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids, pixels, is_image, share):
        if self.cp:
            counts = [len(part) for part in torch.arange(IMAGES).tensor_split(dist.get_world_size(self.cp))]
            own = pixels.split(counts)[dist.get_rank(self.cp)]
            features = GatherFeatures.apply(self.tower(own), counts, self.cp, self.bug)
        else:
            features = self.tower(pixels)
        first, deep = features.unbind(1)
        first, deep = first.flatten(0, 1), deep.flatten(0, 1)
        number = (is_image.flatten().cumsum(0) - 1).view_as(is_image)[:, share]
        mask = is_image[:, share]
        x = self.embed(ids[:, share])
        x = x.masked_scatter(mask.unsqueeze(-1), first[number[mask]]) + self.places(share)
        for i, block in enumerate(self.blocks):
            x = block(x)
            if i == 0:
                chosen = number[mask]
                if self.cp and self.bug == "deep_features":
                    chosen = torch.arange(len(chosen))  # place deep_features
                x = x + torch.zeros_like(x).masked_scatter(mask.unsqueeze(-1), deep[chosen])  # place deep_features
        return self.head(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    cp, rank = None, 0
    if args.cp > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.cp,), mesh_dim_names=("cp",))
        cp, rank = mesh.get_group(), mesh.get_local_rank()
    torch.manual_seed(47)
    model = Model(cp, args.bug)
    if cp:
        for block in model.blocks:
            fully_shard(block, mesh=mesh)
        fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(74)
    is_image = torch.zeros(BATCH, LENGTH, dtype=torch.bool)
    for row, starts in enumerate(STARTS):
        for start in starts:
            is_image[row, start:start + PATCHES] = True
    share = torch.arange(LENGTH).chunk(args.cp)[rank]
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        pixels = torch.randint(-8, 9, (IMAGES, PATCHES, PIXELS), generator=data) / 8
        labels = text[:, 1:].masked_fill(is_image, -100)[:, share]
        total = (labels != -100).sum()
        if cp:
            dist.all_reduce(total, group=cp)
        optimizer.zero_grad()
        logits = model(text[:, :-1], pixels, is_image, share)
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum") / total
        if cp:
            loss = ReduceLoss.apply(loss, cp, args.bug)
        loss.backward()
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
