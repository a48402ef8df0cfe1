"""Supervised fine-tuning of a tiny decoder on question/answer pairs; loss only on the answers."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

PAD, BOS, SEP, EOS, DIGIT = 0, 1, 2, 3, 4
VOCAB, MAX_LEN = 14, 16


class SFTDataset(Dataset):
    """Question: some digits. Answer: the digits turned round, after a first word that says whether their sum is odd."""

    def __init__(self, size, seed):
        gen = torch.Generator().manual_seed(seed)
        self.rows, self.prompt_lens = [], []
        for _ in range(size):
            n = int(torch.randint(2, 5, (1,), generator=gen))
            digits = torch.randint(0, 8, (n,), generator=gen).tolist()
            prompt = [BOS, *[DIGIT + d for d in digits], SEP]
            answer = [DIGIT + 8 + sum(digits) % 2, *[DIGIT + d for d in digits[::-1]], EOS]
            self.rows.append(prompt + answer)
            self.prompt_lens.append(len(prompt))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i], self.prompt_lens[i]


def collate(batch):
    ids = torch.full((len(batch), MAX_LEN), PAD)
    loss_mask = torch.zeros(len(batch), MAX_LEN)
    for i, (row, prompt_len) in enumerate(batch):
        ids[i, :len(row)] = torch.tensor(row)
        # position t holds the loss of predicting token t + 1
        loss_mask[i, prompt_len - 1:len(row) - 1] = 1
    return ids, loss_mask, torch.tensor([p for _, p in batch])


class Decoder(nn.Module):
    def __init__(self, width=48, heads=4, layers=2):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, width)
        self.pos = nn.Embedding(MAX_LEN, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, VOCAB, bias=False)
        self.register_buffer("causal", nn.Transformer.generate_square_subsequent_mask(MAX_LEN))

    def forward(self, ids):
        n = ids.shape[1]
        x = self.tok(ids) + self.pos(torch.arange(n))
        return self.head(self.norm(self.body(x, mask=self.causal[:n, :n], is_causal=True)))


class GPTLMLoss(nn.Module):
    def forward(self, logits, ids, loss_mask):
        logps = F.log_softmax(logits[:, :-1], dim=-1).gather(2, ids[:, 1:, None]).squeeze(2)
        return -(logps * loss_mask[:, :-1]).sum() / loss_mask[:, :-1].sum()


@torch.no_grad()
def first_words(model, data):
    """Loss of the first word of each answer, and how much of the probability goes to the two words that may stand there."""
    ids, _, prompt_lens = collate([data[i] for i in range(len(data))])
    at = prompt_lens - 1
    logps = model(ids)[torch.arange(len(ids)), at].log_softmax(-1)
    loss = -logps.gather(1, ids[torch.arange(len(ids)), prompt_lens][:, None]).mean()
    return loss.item(), logps.exp()[:, DIGIT + 8:].sum(1).mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--warmup", type=int, default=10)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    train, test = SFTDataset(1200, args.seed), SFTDataset(200, args.seed + 999)
    loader = DataLoader(train, batch_size=32, shuffle=True, collate_fn=collate, drop_last=True)
    model, loss_fn = Decoder(), GPTLMLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / args.warmup)
                                                 * 0.5 * (1 + math.cos(math.pi * s / max(1, args.steps))))
    step = 0
    while step < args.steps:
        for ids, loss_mask, _ in loader:
            loss = loss_fn(model(ids), ids, loss_mask)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            step += 1
            if step % 40 == 0:
                print(f"step {step} loss {loss.item():.4f} lr {schedule.get_last_lr()[0]:.2e}")
            if step >= args.steps:
                break
    loss, mass = first_words(model, test)
    print(f"EVIDENCE first_word_loss={loss:.4f} mass_on_legal_words={mass:.4f}")


if __name__ == "__main__":
    main()
