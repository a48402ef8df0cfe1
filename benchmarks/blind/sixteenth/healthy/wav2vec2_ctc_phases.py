"""CTC fine-tuning of a tiny Wav2Vec2 (from a config) on synthetic tone sequences.

Phases as in the usual recipe: feature encoder trained first with the head (stand-in for pre-training),
then frozen; the transformer joins after the head-only phase. Layerdrop and SpecAugment are on."""
import argparse
import logging

import torch
import torch.nn.functional as F
from transformers import Wav2Vec2Config, Wav2Vec2ForCTC

RATE, N_TONES, BLANK = 2000, 6, 0
FREQS = [110, 180, 260, 350, 480, 640]
log = logging.getLogger("ctc")


def utterance(gen):
    n = int(torch.randint(2, 5, (1,), generator=gen))
    tones = torch.randint(0, N_TONES, (n,), generator=gen)
    parts = []
    for t in tones.tolist():
        dur = int(torch.randint(140, 220, (1,), generator=gen))
        phase = 0.5 * torch.rand((), generator=gen)
        x = torch.sin(6.2832 * FREQS[t] * torch.arange(dur) / RATE + phase)
        parts += [x * torch.hann_window(dur).sqrt(), torch.zeros(40)]
    wav = torch.cat(parts)
    wav = wav + 0.02 * torch.randn(wav.shape, generator=gen)
    return (wav - wav.mean()) / (wav.std() + 1e-5), tones + 1


def make_set(n, gen):
    return [utterance(gen) for _ in range(n)]


def collate(items):
    width = max(len(w) for w, _ in items)
    wav = torch.stack([F.pad(w, (0, width - len(w))) for w, _ in items])
    mask = torch.stack([(torch.arange(width) < len(w)).long() for w, _ in items])
    tlen = max(len(t) for _, t in items)
    labels = torch.stack([F.pad(t, (0, tlen - len(t)), value=-100) for _, t in items])
    return {"input_values": wav, "attention_mask": mask, "labels": labels}


def build_model():
    cfg = Wav2Vec2Config(
        vocab_size=N_TONES + 1, pad_token_id=BLANK, bos_token_id=None, eos_token_id=None,
        hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
        conv_dim=(32, 32, 48), conv_stride=(4, 4, 2), conv_kernel=(16, 6, 3), feat_extract_norm="layer",
        do_stable_layer_norm=True, num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4,
        mask_time_prob=0.03, mask_time_length=2, mask_time_min_masks=0, layerdrop=0.15,
        hidden_dropout=0.0, attention_dropout=0.0, activation_dropout=0.0, feat_proj_dropout=0.0,
        final_dropout=0.0, ctc_loss_reduction="mean", ctc_zero_infinity=True)
    return Wav2Vec2ForCTC(cfg)


def set_phase(model, phase):
    """warm: everything; head: lm_head and projection only; full: all but the feature encoder."""
    for name, p in model.named_parameters():
        if phase == "warm":
            p.requires_grad_(True)
        elif phase == "head":
            p.requires_grad_(name.startswith("lm_head") or "feature_projection" in name)
        else:
            p.requires_grad_("feature_extractor" not in name)


def edit_distance(a, b):
    d = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        prev, d[0] = d[0], i
        for j, y in enumerate(b, 1):
            prev, d[j] = d[j], min(d[j] + 1, d[j - 1] + 1, prev + (x != y))
    return d[-1]


@torch.no_grad()
def evaluate(model, batches):
    model.eval()
    loss, errs, total = 0.0, 0, 0
    for b in batches:
        out = model(**b)
        loss += out.loss.item()
        lens = model._get_feat_extract_output_lengths(b["attention_mask"].sum(-1))
        for row, n, ref in zip(out.logits.argmax(-1), lens, b["labels"]):
            hyp = [p for p in torch.unique_consecutive(row[:n]).tolist() if p != BLANK]
            gold = [r for r in ref.tolist() if r >= 0]
            errs += edit_distance(hyp, gold)
            total += len(gold)
    model.train()
    return loss / len(batches), errs / total


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=180)
    args = ap.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    log.setLevel(logging.INFO)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    train = make_set(320, gen)
    valid = make_set(48, gen)
    valid = [collate(valid[i:i + 16]) for i in range(0, 48, 16)]

    model = build_model()
    plan = {0: "warm", int(args.steps * 0.55): "head", int(args.steps * 0.65): "full"}
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.98), weight_decay=0.005)
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda s: min((s + 1) / (0.1 * args.steps), max(0.05, 1 - (s / args.steps) ** 2)))
    order = []
    first = evaluate(model, valid)[0]
    model.train()
    for step in range(args.steps):
        if step in plan:
            set_phase(model, plan[step])
            log.info(f"-- phase {plan[step]}: {sum(p.numel() for p in model.parameters() if p.requires_grad)} trainable")
        if len(order) < 8:
            order = torch.randperm(len(train), generator=gen).tolist()
        batch = collate([train[order.pop()] for _ in range(8)])
        opt.zero_grad(set_to_none=True)
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for p in model.parameters() if p.grad is not None], 2.0)
        opt.step()
        sched.step()
        if (step + 1) % 45 == 0:
            vl, per = evaluate(model, valid)
            idle = sum(p.requires_grad and p.grad is None for p in model.parameters())
            log.info(f"{step + 1}: loss {loss.item():.3f} valid {vl:.3f} ter {per:.3f} (no grad this step: {idle})")

    vl, per = evaluate(model, valid)
    print(f"EVIDENCE valid_first={first:.4f} valid_final={vl:.4f} token_error_rate={per:.4f}")


if __name__ == "__main__":
    main()
