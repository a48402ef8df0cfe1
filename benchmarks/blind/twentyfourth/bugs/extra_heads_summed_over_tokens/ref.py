"""Pre-training with multi-token prediction: a main head and extra heads that predict further ahead, losses per token."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, SEQ, DEPTH = 28, 16, 2


class MTPModel(nn.Module):
    def __init__(self, dim=56):
        super().__init__()
        self.embed, self.place = nn.Embedding(VOCAB, dim), nn.Embedding(SEQ, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.trunk = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.mtp_blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU()) for _ in range(DEPTH))
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        n = ids.shape[1]
        causal = nn.Transformer.generate_square_subsequent_mask(n)
        hidden = self.trunk(self.embed(ids) + self.place(torch.arange(n)), mask=causal, is_causal=True)
        return self.head(hidden), [self.head(block(hidden)) for block in self.mtp_blocks]


def token_loss(logits, ids, mask, ahead):
    """Summed loss of predicting the token `ahead` places further, and how many tokens that were."""
    keep = mask[:, ahead:]
    losses = F.cross_entropy(logits[:, :-ahead].transpose(1, 2), ids[:, ahead:], reduction="none")
    return (losses * keep).sum(), keep.sum()


def documents(rows, gen):
    start = torch.randint(0, VOCAB, (rows, 1), generator=gen)
    stride = torch.randint(1, 7, (rows, 1), generator=gen)
    ids = (start + stride * torch.arange(SEQ)) % VOCAB
    length = torch.randint(8, SEQ + 1, (rows, 1), generator=gen)
    return ids, (torch.arange(SEQ) < length).float()


class MTPLoss:
    def __init__(self, scaling_factor):
        self.scaling_factor = scaling_factor

    def __call__(self, model, ids, mask):
        logits, extra = model(ids)
        total, num_tokens = token_loss(logits, ids, mask, 1)
        main_loss = total / num_tokens
        mtp_loss = 0.0
        for depth, extra_logits in enumerate(extra):
            summed, count = token_loss(extra_logits, ids, mask, depth + 2)
            mtp_loss = mtp_loss + summed / count
        return main_loss, self.scaling_factor / len(extra) * mtp_loss


def train(args):
    gen = torch.Generator().manual_seed(args.seed)
    model, criterion = MTPModel(), MTPLoss(args.mtp_scaling)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95))
    for step in range(args.steps):
        for group in optimizer.param_groups:
            group["lr"] = args.lr * min(1.0, (step + 1) / 8)
        ids, mask = documents(24, gen)
        main_loss, mtp_loss = criterion(model, ids, mask)
        optimizer.zero_grad()
        (main_loss + mtp_loss).backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step} main {main_loss.item():.4f} mtp {mtp_loss.item():.4f} norm {norm.item():.2f}")
    return model, norm.item()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--mtp-scaling", type=float, default=0.1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model, norm = train(args)
    ids, mask = documents(256, torch.Generator().manual_seed(1212))
    with torch.no_grad():
        summed, count = token_loss(model(ids)[0], ids, mask, 1)
    print(f"EVIDENCE main_loss={(summed / count).item():.4f} last_grad_norm={norm:.3f}")
