"""A causal teacher is distilled into a causal pupil of half its width: KL at temperature plus cross-entropy."""
import argparse

import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel

VOCAB, LENGTH = 16, 14


def corpus(gen, size=16):
    """A hidden Markov chain: the next symbol is one of three that follow from the last one."""
    ids = torch.randint(0, VOCAB, (size, LENGTH), generator=gen)
    for t in range(2, LENGTH):
        choice = torch.multinomial(torch.tensor([0.75, 0.2, 0.05]).expand(size, 3), 1, generator=gen)[:, 0]
        ids[:, t] = (3 * ids[:, t - 1] + 1 + choice * 5) % VOCAB
    return ids


def build(width, heads, layers):
    return GPT2LMHeadModel(GPT2Config(vocab_size=VOCAB, n_positions=LENGTH, n_embd=width, n_head=heads, n_layer=layers,
                                      resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
                                      bos_token_id=0, eos_token_id=0))


class DistillationLoss(torch.nn.Module):
    def __init__(self, temperature, weight):
        super().__init__()
        self.temperature, self.weight = temperature, weight

    def forward(self, student_logits, teacher_logits, ids):
        ce = F.cross_entropy(student_logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        student = student_logits[:, :-1]
        teacher = teacher_logits[:, :-1]
        kl = F.kl_div((student / self.temperature).log_softmax(-1).flatten(0, 1),
                      (teacher / self.temperature).log_softmax(-1).flatten(0, 1),
                      log_target=True, reduction="batchmean") * self.temperature ** 2
        return (1 - self.weight) * ce + self.weight * kl, ce.detach(), kl.detach()


def train_teacher(gen, steps=130):
    teacher = build(48, 4, 2)
    optimizer = torch.optim.AdamW(teacher.parameters(), lr=4e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(steps):
        ids = corpus(gen)
        loss = teacher(input_ids=ids, labels=ids).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    print(f"teacher loss {loss.item():.4f}")
    return teacher.eval().requires_grad_(False)


@torch.no_grad()
def compare(student, teacher, ids):
    student.eval()
    s, t = student(input_ids=ids).logits[:, 1:-1], teacher(input_ids=ids).logits[:, 1:-1]
    agree = (s.argmax(-1) == t.argmax(-1)).float().mean().item()
    ce = F.cross_entropy(s.flatten(0, 1), ids[:, 2:].flatten()).item()
    student.train()
    return ce, agree


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=110)
    ap.add_argument("--temperature", type=float, default=2.0)
    ap.add_argument("--weight", type=float, default=0.7)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    teacher, student = train_teacher(gen), build(32, 4, 2)
    loss_fn = DistillationLoss(args.temperature, args.weight)
    optimizer = torch.optim.AdamW(student.parameters(), lr=args.lr)
    for step in range(1, args.steps + 1):
        ids = corpus(gen)
        with torch.no_grad():
            teacher_logits = teacher(input_ids=ids).logits
        loss, ce, kl = loss_fn(student(input_ids=ids).logits, teacher_logits, ids)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimizer.step()
        if step % 30 == 0:
            print(f"step {step} loss {loss.item():.4f} ce {ce.item():.4f} kl {kl.item():.4f}")
    ce, agree = compare(student, teacher, corpus(torch.Generator().manual_seed(404), 128))
    print(f"EVIDENCE held_out_ce={ce:.4f} agreement={agree:.4f} last_kl={kl.item():.4f}")


if __name__ == "__main__":
    main()
