"""Pre-training on short melodies that are packed into rows: positions and attention begin anew with each melody."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

NOTES, START, ROW, WIDTH, HEADS = 12, 12, 40, 48, 4


def melody(gen):
    """The start note and the stride are drawn; the stride is told by the place modulo three."""
    length = int(torch.randint(6, 15, (), generator=gen))
    first, stride = torch.randint(0, NOTES, (2,), generator=gen).tolist()
    notes = [(first + stride * k + (k % 3 == 2)) % NOTES for k in range(length)]
    return [START, *notes]


def pack(gen, rows):
    """Rows of ROW tokens; a melody that does not fit any more is cut off."""
    ids, segments, positions = [], [], []
    for _ in range(rows):
        row, seg, pos, number = [], [], [], 0
        while len(row) < ROW:
            piece = melody(gen)[:ROW - len(row)]
            row += piece
            seg += [number] * len(piece)
            pos += range(len(piece))
            number += 1
        ids.append(row)
        segments.append(seg)
        positions.append(pos)
    return torch.tensor(ids), torch.tensor(segments), torch.tensor(positions)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 3 * WIDTH), nn.GELU(), nn.Linear(3 * WIDTH, WIDTH))

    def forward(self, x, mask):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class MelodyModel(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.tokens, self.places = nn.Embedding(NOTES + 1, WIDTH), nn.Embedding(ROW, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, NOTES + 1)

    def forward(self, ids, segments, positions):
        mask = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril()[None, None]
        same_melody = segments[:, None, :, None] == segments[:, None, None, :]
        mask = mask & same_melody
        x = self.tokens(ids) + self.places(positions)
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.norm(x))


def loss_of(model, ids, segments, positions):
    logits = model(ids, segments, positions)
    labels = ids[:, 1:].masked_fill(segments[:, 1:] != segments[:, :-1], -100)
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels.flatten(), ignore_index=-100)


def alone(model, gen, count=50):
    """Held-out melodies as they come in use: one at a time, from position nought."""
    right = seen = 0
    for _ in range(count):
        ids = torch.tensor([melody(gen)])
        guess = model(ids, torch.zeros_like(ids), torch.arange(ids.shape[1])[None]).argmax(-1)
        right += (guess[:, 3:-1] == ids[:, 4:]).sum().item()
        seen += ids[:, 4:].numel()
    return right / seen


@torch.no_grad()
def leak(model, gen):
    """How far the answers to the second melody move when the first is another one."""
    ids, segments, positions = pack(gen, 8)
    other = torch.where(segments == 0, (ids + 1) % NOTES, ids)
    change = (model(ids, segments, positions) - model(other, segments, positions)).abs().amax(-1)
    return change[segments == 1].mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=110)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 50)
    model = MelodyModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01, betas=(0.9, 0.98))
    warmup = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, total_iters=15)
    for step in range(args.steps):
        loss = loss_of(model, *pack(gen, 12))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        warmup.step()
        if step % 50 == 49:
            print(f"step {step + 1} loss {loss.item():.4f}")
    model.eval()
    test = torch.Generator().manual_seed(7)
    with torch.no_grad():
        accuracy = alone(model, test)
    print(f"EVIDENCE packed_loss={loss.item():.4f} accuracy_alone={accuracy:.3f} leak={leak(model, test):.4f}")


if __name__ == "__main__":
    main()
