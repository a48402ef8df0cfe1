"""Small models of transformers and timm, with random weights, under DDP, FSDP2 or transformers' tensor parallelism.

--mode single is the single-device program. Batch normalisation computes with the statistics that it has
(as in fine-tuning with frozen ones): over a batch of its own each rank would normalise by other numbers.
--attention: eager, or a variant of scaled_dot_product_attention: sdpa as the model calls it, or math, PyTorch's own
decomposition."""
import argparse
import contextlib
import os
import tempfile

import torch
import torch.distributed as dist

TEXT = dict(vocab_size=26, hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
            max_position_embeddings=32)
GATED = dict(num_key_value_heads=2, tie_word_embeddings=False)
NO_DROPOUT = dict(hidden_dropout_prob=0, attention_probs_dropout_prob=0)
IMAGE = dict(image_size=12, patch_size=4, num_channels=3)
LABELS = 5


def transformers_model(args):
    import transformers as t
    attention = {"attn_implementation": "eager" if args.attention == "eager" else "sdpa"}
    layers = {"hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 4}
    makers = {
        "bert": lambda: t.BertForMaskedLM(t.BertConfig(**TEXT, **NO_DROPOUT, **attention)),
        "gpt2": lambda: t.GPT2LMHeadModel(t.GPT2Config(vocab_size=26, n_embd=24, n_layer=2, n_head=4, n_positions=32,
                                                       resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, **attention)),
        "llama": lambda: t.LlamaForCausalLM(t.LlamaConfig(**TEXT, **GATED, **attention)),
        "qwen3": lambda: t.Qwen3ForCausalLM(t.Qwen3Config(**TEXT, **GATED, head_dim=6, **attention)),
        "gemma2": lambda: t.Gemma2ForCausalLM(t.Gemma2Config(**TEXT, **GATED, head_dim=6, **attention)),
        "mixtral": lambda: t.MixtralForCausalLM(t.MixtralConfig(**TEXT, **GATED, num_local_experts=4,
                                                                num_experts_per_tok=2, **attention)),
        "vit": lambda: t.ViTForImageClassification(t.ViTConfig(**layers, **NO_DROPOUT, **IMAGE, num_labels=LABELS, **attention)),
        "resnet": lambda: t.ResNetForImageClassification(t.ResNetConfig(
            embedding_size=6, hidden_sizes=[10, 14], depths=[1, 2], layer_type="basic", num_labels=LABELS)),
    }
    return makers[args.model]()


def split(model):
    """The same model in tensor parallelism, which transformers makes a matter of loading."""
    import transformers
    from safetensors.torch import save_file
    with tempfile.TemporaryDirectory() as folder:
        model.config.architectures = [type(model).__name__]
        model.config.save_pretrained(folder)
        save_file(model.state_dict(), os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
        return transformers.AutoModelForCausalLM.from_pretrained(
            folder, tp_plan="auto", attn_implementation=model.config._attn_implementation)


def build(args):
    """The model, alike on all ranks."""
    torch.manual_seed(0)
    if args.model.startswith("timm:"):
        import timm
        return timm.create_model(args.model[5:], num_classes=LABELS)
    model = transformers_model(args)
    if args.mode != "tp":
        return model
    return split(model)


def freeze_statistics(model):
    for module in model.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.eval()


def is_of_images(args):
    return args.model in ("vit", "resnet") or args.model.startswith("timm:")


def loss_of(net, args, number, rank, ranks):
    made = torch.Generator().manual_seed(number)
    if not is_of_images(args):
        tokens = torch.randint(26, (args.batch, 7), generator=made).chunk(ranks)[rank]
        more = {}
        if args.padded:  # the last tokens of each row: a mask, and no label
            more["attention_mask"] = (torch.arange(7) < 5).long().expand_as(tokens).contiguous()
            return net(input_ids=tokens, labels=tokens.masked_fill(more["attention_mask"] == 0, -100), **more).loss
        return net(input_ids=tokens, labels=tokens).loss
    side = args.side or (12 if args.model == "vit" else 18)
    images = torch.randn(args.batch, 3, side, side, generator=made).chunk(ranks)[rank]
    labels = torch.randint(LABELS, (args.batch,), generator=made).chunk(ranks)[rank]
    out = net(images) if args.model.startswith("timm:") else net(pixel_values=images).logits
    return torch.nn.functional.cross_entropy(out, labels)


def parallelize(model, args):
    if args.mode == "ddp":
        return torch.nn.parallel.DistributedDataParallel(model)
    if args.mode == "fsdp":
        from torch.distributed.fsdp import fully_shard
        for module in model.modules():
            if isinstance(module, torch.nn.ModuleList) or args.model.startswith("timm:") and module is not model \
                    and isinstance(module, torch.nn.Sequential):
                for layer in module:
                    fully_shard(layer)
        fully_shard(model)
    return model


def optimizer_of(model, args):
    how = {args.update: True} if args.update in ("fused", "foreach") else {"foreach": False}
    if args.optimizer == "sgd":
        return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01, **how)
    return torch.optim.AdamW(model.parameters(), lr=0.1, **how)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", choices=("single", "ddp", "fsdp", "tp"), default="single")
    parser.add_argument("--model", default="llama")
    parser.add_argument("--attention", choices=("eager", "sdpa", "math"), default="sdpa")
    parser.add_argument("--optimizer", choices=("adamw", "sgd"), default="adamw")
    parser.add_argument("--update", choices=("loop", "foreach", "fused"), default="loop")
    parser.add_argument("--padded", action="store_true")
    parser.add_argument("--batch", type=int, default=22)
    parser.add_argument("--side", type=int, default=0)
    args = parser.parse_args()
    rank, ranks = 0, 1
    if "WORLD_SIZE" in os.environ:
        dist.init_process_group("gloo")
        if args.mode != "tp":
            rank, ranks = dist.get_rank(), dist.get_world_size()
    model = build(args)
    freeze_statistics(model)
    net = parallelize(model, args)
    optimizer = optimizer_of(model, args)
    from torch.nn.attention import SDPBackend, sdpa_kernel
    for number in range(3):
        with sdpa_kernel(SDPBackend.MATH) if args.attention == "math" else contextlib.nullcontext():
            loss_of(net, args, number, rank, ranks).backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
