"""Language model whose vocabulary loss is computed and back-propagated chunk by chunk (saves memory)."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 300
SEQ = 32


class Trunk(nn.Module):
    def __init__(self, dim=80):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.norm = nn.LayerNorm(dim)

    def forward(self, ids):
        return self.norm(self.gru(self.embed(ids))[0])


def chunked_loss_backward(hidden, head, target, chunk):
    """Adds gradients to the head, returns the loss and the gradient of the hidden states.

    The graph is cut at the hidden states: every chunk makes its logits, goes backward to the cut
    and frees them, so that never more than one chunk of logits is alive.
    """
    cut = hidden.detach().requires_grad_(True)
    flat, labels = cut.flatten(0, 1), target.flatten()
    total = 0.0
    for h, y in zip(flat.split(chunk), labels.split(chunk)):
        part = F.cross_entropy(head(h), y, reduction="sum") / labels.numel()
        part.backward(retain_graph=False)
        total += part.item()
    return total, cut.grad


def sample(gen, size):
    """Zipf-like Markov text: the next word depends on the last one."""
    start = torch.randint(VOCAB, (size, 1), generator=gen)
    ids = [start]
    for _ in range(SEQ):
        jump = torch.multinomial(torch.tensor([0.6, 0.25, 0.1, 0.05]), size, replacement=True, generator=gen)[:, None]
        ids.append((ids[-1] * 7 + 3 + jump * 41) % VOCAB)
    return torch.cat(ids, 1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=100)
    ap.add_argument("--chunk", type=int, default=256)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    trunk, head = Trunk(), nn.Linear(80, VOCAB)
    params = list(trunk.parameters()) + list(head.parameters())
    opt = torch.optim.AdamW(params, lr=args.lr, weight_decay=0.01)
    for step in range(args.steps):
        ids = sample(gen, 32)
        hidden = trunk(ids[:, :-1])
        loss, grad_hidden = chunked_loss_backward(hidden, head, ids[:, 1:], args.chunk)
        hidden.backward(grad_hidden)
        nn.utils.clip_grad_norm_(params, 1.0)
        opt.step()
        opt.zero_grad()
        if step % 20 == 0:
            print(f"step {step} loss {loss:.4f}")
    with torch.no_grad():
        ids = sample(gen, 128)
        logits = head(trunk(ids[:, :-1]))
        val = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).item()
        acc = (logits.argmax(-1) == ids[:, 1:]).float().mean().item()
    print(f"EVIDENCE val_loss={val:.4f} top1={acc:.3f} (best possible 0.60)")


if __name__ == "__main__":
    main()
