# SPDX-License-Identifier: Apache-2.0
"""Experts whose hidden layers are split over tensor parallelism, within data parallelism, by functional collectives.
The stream is split by positions: the router sees those of its rank, tokens are gathered for the experts, and their
results scattered. Loss per token: losses are sums, gradients are summed, and divided once by the tokens of all ranks;
balance and z-loss are scaled so that the division leaves a mean. Bugs:
router_unsynced: the router is taken for a parameter that sees all tokens, its gradient is not summed over tp.
    https://github.com/NVIDIA/Megatron-LM/pull/619
z_scale: the z-loss, divided by tp, is scaled by the tokens of the rank: its gradient is tp times too small.
    https://github.com/NVIDIA/Megatron-LM/pull/5047
balance_scale: the balance of all copies, whose counts are of all, is scaled by the tokens of one copy.
    https://github.com/NVIDIA/Megatron-LM/pull/3769"""
import argparse

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

VOCABULARY, WIDTH, HIDDEN, EXPERTS, CHOSEN, BATCH, LENGTH, LAYERS = 29, 9, 14, 5, 3, 12, 16, 2
BALANCE, Z_LOSS = 0.05, 0.02


class MoE(nn.Module):
    def __init__(self, mesh, bug):
        super().__init__()
        self.mesh, self.bug = mesh, bug
        rank, size = (mesh.get_local_rank("tp"), mesh["tp"].size()) if mesh else (0, 1)
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.up = nn.Parameter((torch.randn(EXPERTS, HIDDEN, WIDTH) / 3).chunk(size, 1)[rank].clone())
        self.down = nn.Parameter((torch.randn(EXPERTS, WIDTH, HIDDEN) / 3).chunk(size, 2)[rank].clone())

    def side_losses(self, logits, probabilities, chosen):
        """Balance and z-loss, as sums over tokens: all gradients are divided by the number of all tokens."""
        tp, dp = (self.mesh["tp"].size(), self.mesh["dp"].size()) if self.mesh else (1, 1)
        own = probabilities.size(0) * probabilities.size(1)
        counts = chosen.sum((0, 1))
        if self.mesh:
            counts = funcol.all_reduce(counts, "sum", self.mesh.get_group("tp"))
            counts = funcol.all_reduce(counts, "sum", self.mesh.get_group("dp"))
        every = own * tp * dp
        balance = EXPERTS * (counts / (every * CHOSEN) * probabilities.sum((0, 1)) / every).sum()
        scale = own * tp if self.bug == "balance_scale" else every  # place balance_scale
        loss = BALANCE * balance * scale
        z = Z_LOSS / tp * logits.logsumexp(-1).square().mean()
        return loss + z * (own if self.bug == "z_scale" else own * tp)  # place z_scale

    def forward(self, x):
        logits = self.router(x)  # place router_unsynced
        probabilities = logits.softmax(-1)
        chosen = F.one_hot(probabilities.topk(CHOSEN, -1).indices, EXPERTS).sum(-2).to(x.dtype)
        loss = self.side_losses(logits, probabilities, chosen)
        gates = probabilities * chosen
        if self.mesh:
            group = self.mesh.get_group("tp")
            x = funcol.all_gather_tensor_autograd(x.contiguous(), 1, group)
            gates = funcol.all_gather_tensor_autograd(gates.contiguous(), 1, group)
        hidden = F.silu(torch.einsum("btw,ehw->bteh", x, self.up))
        y = torch.einsum("bteh,ewh,bte->btw", hidden, self.down, gates)
        if self.mesh:
            y = funcol.reduce_scatter_tensor_autograd(y.contiguous(), "sum", 1, group)
        return y, loss


class Model(nn.Module):
    def __init__(self, mesh, bug):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.places = nn.Embedding(LENGTH, WIDTH)
        self.norms = nn.ModuleList(nn.RMSNorm(WIDTH, eps=1e-5) for _ in range(LAYERS))
        self.layers = nn.ModuleList(MoE(mesh, bug) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, ids, places):
        x = self.embed(ids) + self.places(places)
        side = 0.0
        for norm, layer in zip(self.norms, self.layers):
            y, loss = layer(norm(x))
            x, side = x + y, side + loss
        return self.head(x), side


def finalize(model, tokens, mesh, bug):
    if mesh:
        dist.all_reduce(tokens, group=mesh.get_group("dp"))
    for name, p in model.named_parameters():
        if mesh:
            split = name.endswith((".up", ".down"))
            if bug == "router_unsynced":
                split = split or name.endswith(".router.weight")  # place router_unsynced
            if not split:
                dist.all_reduce(p.grad, group=mesh.get_group("tp"))  # place router_unsynced
            dist.all_reduce(p.grad, group=mesh.get_group("dp"))
        p.grad /= tokens


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    mesh, copy, rank = None, 0, 0
    if args.dp * args.tp > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.dp, args.tp), mesh_dim_names=("dp", "tp"))
        copy, rank = mesh.get_local_rank("dp"), mesh.get_local_rank("tp")
    torch.manual_seed(52)
    model = Model(mesh, args.bug)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-3)
    data = torch.Generator().manual_seed(3)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data).chunk(args.dp)[copy]
        ids, labels = (t.chunk(args.tp, 1)[rank] for t in (text[:, :-1], text[:, 1:]))
        places = torch.arange(LENGTH).chunk(args.tp)[rank]
        optimizer.zero_grad()
        logits, side = model(ids, places)
        (F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum") + side).backward()
        finalize(model, torch.tensor(text[:, 1:].numel()), mesh, args.bug)
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
