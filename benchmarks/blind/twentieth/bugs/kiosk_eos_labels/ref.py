"""Supervised fine-tuning of a small decoder: spoken coffee orders become kiosk tickets."""
import argparse

import torch
from torch import nn
import torch.nn.functional as F

EOS = 1
PAD = 0
SEP = 2
FIRST = 3
DRINKS = 14
VOCAB = FIRST + DRINKS
MAX_NEW = 12


class OrderDecoder(nn.Module):
    def __init__(self, dim=48, max_len=32):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.pos = nn.Embedding(max_len, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        n = ids.size(1)
        x = self.tok(ids) + self.pos.weight[:n]
        causal = nn.Transformer.generate_square_subsequent_mask(n)
        return self.out(self.norm(self.blocks(x, mask=causal, is_causal=True)))


def make_order(gen):
    """An order names 2 to 5 drinks; the ticket lists them in reverse (last shouted, first made)."""
    n = int(torch.randint(2, 6, (1,), generator=gen))
    drinks = (FIRST + torch.randint(DRINKS, (n,), generator=gen)).tolist()
    return drinks + [SEP], drinks[::-1] + [EOS]


def collate(rows):
    width = max(len(prompt) + len(ticket) for prompt, ticket in rows)
    ids = torch.full((len(rows), width), PAD)
    prompt_len = torch.tensor([len(prompt) for prompt, _ in rows])
    for i, (prompt, ticket) in enumerate(rows):
        ids[i, : len(prompt) + len(ticket)] = torch.tensor(prompt + ticket)
    labels = ids.clone()
    labels[labels == PAD] = -100
    labels[torch.arange(width)[None] < prompt_len[:, None]] = -100
    return ids, labels


def lm_loss(logits, labels):
    return F.cross_entropy(logits[:, :-1].reshape(-1, VOCAB), labels[:, 1:].reshape(-1), ignore_index=-100)


@torch.no_grad()
def serve(model, prompt):
    ids = list(prompt)
    for _ in range(MAX_NEW):
        nxt = model(torch.tensor([ids]))[0, -1].argmax().item()
        ids.append(nxt)
        if nxt == EOS:
            break
    return ids[len(prompt):]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=350)
    ap.add_argument("--batch", type=int, default=48)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 100)
    model = OrderDecoder()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr, total_steps=args.steps)
    for step in range(args.steps):
        ids, labels = collate([make_order(gen) for _ in range(args.batch)])
        loss = lm_loss(model(ids), labels)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        if step % 70 == 0:
            print(f"step {step} loss {loss.item():.4f}")

    model.eval()
    tests = [make_order(gen) for _ in range(60)]
    served = [serve(model, prompt) for prompt, _ in tests]
    stopped = sum(EOS in out for out in served) / len(tests)
    exact = sum(out == ticket for out, (_, ticket) in zip(served, tests)) / len(tests)
    print(f"EVIDENCE stopped={stopped:.3f} exact_tickets={exact:.3f}")


if __name__ == "__main__":
    main()
