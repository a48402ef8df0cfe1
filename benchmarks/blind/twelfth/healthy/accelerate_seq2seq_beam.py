"""Accelerate: a GRU with attention reverses strings; curriculum over lengths, scheduled sampling, beam search in tests."""
import argparse
import random

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn

PAD, BOS, EOS, FIRST = 0, 1, 2, 3
LETTERS = 8


def make_batch(rng, size, longest):
    sources = [[rng.randrange(FIRST, FIRST + LETTERS) for _ in range(rng.randint(2, longest))] for _ in range(size)]
    width = max(map(len, sources))
    src = torch.tensor([s + [PAD] * (width - len(s)) for s in sources])
    tgt = torch.tensor([s[::-1] + [EOS] + [PAD] * (width - len(s)) for s in sources])
    return src, tgt


class Seq2Seq(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.emb = nn.Embedding(FIRST + LETTERS, dim, padding_idx=PAD)
        self.encoder = nn.GRU(dim, dim // 2, batch_first=True, bidirectional=True)
        self.cell = nn.GRUCell(2 * dim, dim)
        self.query = nn.Linear(dim, dim)
        self.out = nn.Linear(2 * dim, FIRST + LETTERS)

    def encode(self, src):
        lengths = (src != PAD).sum(1).cpu()
        packed = nn.utils.rnn.pack_padded_sequence(self.emb(src), lengths, batch_first=True, enforce_sorted=False)
        states, h = self.encoder(packed)
        states, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True)
        return states, src == PAD, torch.cat([h[0], h[1]], 1)

    def decode_step(self, token, h, context, states, mask):
        h = self.cell(torch.cat([self.emb(token), context], 1), h)
        scores = torch.einsum("bd,btd->bt", self.query(h), states).masked_fill(mask, float("-inf"))
        context = torch.einsum("bt,btd->bd", scores.softmax(1), states)
        return self.out(torch.cat([h, context], 1)), h, context

    def forward(self, src, tgt, p_teacher):
        states, mask, h = self.encode(src)
        token, context, outputs = torch.full((len(src),), BOS), torch.zeros_like(h), []
        for t in range(tgt.shape[1]):
            logits, h, context = self.decode_step(token, h, context, states, mask)
            outputs.append(logits)
            own = logits.detach().argmax(1)
            token = torch.where(torch.rand(len(src)) < p_teacher, tgt[:, t], own)
        return torch.stack(outputs, 1)

    @torch.no_grad()
    def beam_search(self, src, width=3, limit=12):
        states, mask, h = self.encode(src[None])
        beams, done = [(0.0, [BOS], h, torch.zeros_like(h))], []
        while beams and len(done) < width:
            grown = []
            for score, tokens, h, context in beams:
                logits, h2, c2 = self.decode_step(torch.tensor([tokens[-1]]), h, context, states, mask)
                top = logits[0].log_softmax(0).topk(width)
                grown += [(score + v, tokens + [i], h2, c2) for v, i in zip(top.values.tolist(), top.indices.tolist())]
            grown.sort(key=lambda b: b[0] / len(b[1]), reverse=True)
            beams = []
            for b in grown[:width]:
                (done if b[1][-1] == EOS or len(b[1]) > limit else beams).append(b)
        return max(done, key=lambda b: b[0] / len(b[1]))[1][1:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=8e-3)
    parser.add_argument("--steps", type=int, default=150)
    args = parser.parse_args()
    set_seed(args.seed)
    torch.set_num_threads(1)
    rng = random.Random(args.seed)
    accelerator = Accelerator(cpu=True)
    model = Seq2Seq()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    model, optimizer = accelerator.prepare(model, optimizer)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    longest, smooth = 3, None
    for step in range(1, args.steps + 1):
        model.train()
        src, tgt = make_batch(rng, 32, longest)
        p_teacher = max(0.6, 1 - step / args.steps)
        loss = criterion(model(src, tgt, p_teacher).flatten(0, 1), tgt.flatten())
        optimizer.zero_grad()
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        smooth = loss.item() if smooth is None else 0.8 * smooth + 0.2 * loss.item()
        if smooth < 0.5 and longest < 6:      # easy by now: longer strings
            longest, smooth = longest + 1, None
        if step % 50 == 0 or step == args.steps:
            model.eval()
            net = accelerator.unwrap_model(model)
            src, tgt = make_batch(rng, 30, longest)
            right = sum(net.beam_search(s[s != PAD]) == t[t != PAD].tolist() for s, t in zip(src, tgt))
            accelerator.print(f"step {step}: loss {loss.item():.4f}, up to {longest} letters, beam right {right / 30:.2f}")


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
