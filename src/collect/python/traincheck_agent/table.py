# SPDX-License-Identifier: Apache-2.0
"""The APIs that are traced: one row for each group, with what it means and why it is there.

A row names an owner (a module or a class) and attributes of it; "*" stands for every public function.
Flags say how calls are treated; see agent.h. LOOK: variables are looked at before and after.
"""
from collections import namedtuple

from _traincheck_agent import (ASK, CHECKPOINT, CONTENT, LOOK, METHOD, MODULE, NOISE, OUTERMOST, PARTIAL,
                               RECEIVER, ROLE_BACKWARD, ROLE_CLIP, ROLE_COLLECTIVE, ROLE_DATA, ROLE_FILL,
                               ROLE_FORWARD, ROLE_FUNCTION, ROLE_INIT, ROLE_LIBRARY, ROLE_LOAD,
                               ROLE_MODE, ROLE_REPLAY, ROLE_SAVE, ROLE_SCALER, ROLE_SCHEDULER, ROLE_SEED,
                               ROLE_STEP, ROLE_UNEVEN, ROLE_UNSCALE, ROLE_ZERO_GRAD, UNWRITTEN)

Row = namedtuple("Row", "owner names role flags group why")

# APIs of one group recurse into each other: only the outermost call is an event.
BACKWARD_GROUP, MODE_GROUP, CONVERT_GROUP, STATE_GROUP, DRAW_GROUP = 1, 2, 3, 4, 5

SCHEDULER = "torch.optim.lr_scheduler.LRScheduler"
OPTIMIZER = "torch.optim.Optimizer"
MODULE_CLASS = "torch.nn.Module"

GRAPHS = "torch.cuda.CUDAGraph", "torch.xpu.XPUGraph", "torch.accelerator.Graph"

TABLE = (
    Row(MODULE_CLASS, "__call__", ROLE_FORWARD, METHOD | MODULE | ASK, 0,
        "the forward of every module; the outermost one begins an iteration"),
    Row("torch.Tensor", "backward", ROLE_BACKWARD, METHOD | OUTERMOST | LOOK | ASK, BACKWARD_GROUP,
        "gradients are made here"),
    Row("torch.autograd", "backward", ROLE_BACKWARD, OUTERMOST | LOOK, BACKWARD_GROUP,
        "the same without a tensor as receiver"),
    Row("torch.autograd", "grad", ROLE_FUNCTION, OUTERMOST | LOOK, 0,
        "gradients that are assigned by hand"),
    Row("torch.autograd.Function", "apply", ROLE_FUNCTION, METHOD | ASK | PARTIAL, 0,
        "primitives that users write: dtype and context are theirs to get right"),
    Row(OPTIMIZER, "zero_grad", ROLE_ZERO_GRAD, METHOD | RECEIVER, 0,
        "gradients are cleared here"),
    Row(OPTIMIZER, "add_param_group", ROLE_FUNCTION, METHOD | RECEIVER, 0,
        "what an optimizer owns"),
    Row(OPTIMIZER, "state_dict", ROLE_SAVE, METHOD | RECEIVER, 0, "checkpoints"),
    Row(OPTIMIZER, "load_state_dict", ROLE_LOAD, METHOD | RECEIVER, 0, "resuming"),
    Row(SCHEDULER, "state_dict", ROLE_SAVE, METHOD | RECEIVER, 0, "checkpoints"),
    Row(SCHEDULER, "load_state_dict", ROLE_LOAD, METHOD | RECEIVER, 0, "resuming"),
    Row(MODULE_CLASS, "train eval", ROLE_MODE, METHOD | OUTERMOST, MODE_GROUP,
        "dropout and normalisation depend on it"),
    Row(MODULE_CLASS, "zero_grad", ROLE_ZERO_GRAD, METHOD | RECEIVER, 0,
        "gradients cleared by the module"),
    Row(MODULE_CLASS, "load_state_dict", ROLE_LOAD, METHOD | OUTERMOST | LOOK, STATE_GROUP,
        "parameters change outside of a step"),
    Row(MODULE_CLASS, "state_dict", ROLE_SAVE, METHOD | OUTERMOST, STATE_GROUP, "checkpoints"),
    Row(MODULE_CLASS, "to half bfloat16 float double cuda cpu", ROLE_FUNCTION,
        METHOD | OUTERMOST | LOOK, CONVERT_GROUP, "dtype and device of all parameters"),
    Row(MODULE_CLASS, "apply requires_grad_", ROLE_FUNCTION, METHOD | OUTERMOST, 0,
        "initialisation and freezing of whole modules"),
    Row("torch.nn.functional", "*", ROLE_FUNCTION, OUTERMOST | ASK, 0,
        "what layers compute, called directly"),
    # A parameter drawn twice is a mistake; filled and then filled otherwise, or drawn and then in part
    # overwritten, is how many models are built. Hence two roles.
    Row("torch.nn.init", "constant_ ones_ zeros_ eye_ dirac_ constant eye dirac", ROLE_FILL, OUTERMOST,
        0, "initialisers that draw no random number"),
    Row("torch.nn.init", "*", ROLE_INIT, OUTERMOST, 0, "initialisers that draw random numbers"),
    Row("torch.Tensor", "normal_ uniform_", ROLE_INIT, METHOD | OUTERMOST, 0,
        "initialisers that are tensor methods"),
    Row("torch.Tensor", "copy_ fill_ zero_", ROLE_FILL, METHOD | OUTERMOST, 0,
        "contents given, not drawn"),
    Row("torch.nn.utils", "clip_grad_norm_ clip_grad_value_", ROLE_CLIP, OUTERMOST | LOOK, 0,
        "gradients are scaled between backward and step"),
    Row("torch.nn.utils", "*", ROLE_FUNCTION, OUTERMOST, 0, "parametrisations, packed sequences"),
    Row("torch.amp.GradScaler", "scale update", ROLE_SCALER, METHOD | RECEIVER, 0, "loss scaling"),
    Row("torch.amp.GradScaler", "step", ROLE_SCALER, METHOD | RECEIVER, 0,
        "a step that may be skipped"),
    Row("torch.amp.GradScaler", "unscale_", ROLE_UNSCALE, METHOD | RECEIVER | LOOK, 0,
        "must come before clipping"),
    Row("torch.autocast", "__enter__", ROLE_FUNCTION, METHOD, 0, "mixed precision"),
    Row("torch.utils.data.dataloader._BaseDataLoaderIter", "__next__", ROLE_DATA, METHOD, 0,
        "the next batch begins an iteration"),
    Row("torch.utils.data.DistributedSampler", "set_epoch", ROLE_LIBRARY, METHOD | RECEIVER, 0,
        "without it each epoch has the same order"),
    Row("torch.utils.data.DistributedSampler", "__iter__", ROLE_LIBRARY, METHOD, 0,
        "shows that the sampler is used"),
    Row("torch.distributed", "all_reduce broadcast", ROLE_COLLECTIVE, OUTERMOST | LOOK, 0,
        "gradients and parameters of ranks are brought together"),
    Row("torch.distributed", "all_gather all_gather_into_tensor reduce reduce_scatter "
        "reduce_scatter_tensor all_to_all all_to_all_single gather scatter barrier "
        "broadcast_object_list all_gather_object", ROLE_COLLECTIVE, OUTERMOST, 0, "collectives"),
    Row("torch.distributed", "init_process_group destroy_process_group", ROLE_FUNCTION, OUTERMOST,
        0, "the group of ranks"),
    Row("torch.distributed.algorithms.Join", "__enter__", ROLE_UNEVEN, METHOD, 0,
        "ranks whose data has ended do not step: step n of one is not step n of another"),
    Row("torch.distributed", "send recv isend irecv batch_isend_irecv", ROLE_FUNCTION, OUTERMOST, 0,
        "what one rank hands to another"),
    *(Row(graph, "replay", ROLE_REPLAY, METHOD | OUTERMOST | LOOK, 0,
          "what was captured is done: variables change without a call that says so") for graph in GRAPHS),
    Row("torch.utils.checkpoint", "checkpoint checkpoint_sequential", ROLE_LIBRARY, OUTERMOST, 0,
        "what is computed once more in the backward, and whether it draws the same"),
    Row("torch", "save", ROLE_SAVE, OUTERMOST | CHECKPOINT, 0, "checkpoints"),
    Row("torch", "load", ROLE_LOAD, OUTERMOST, 0, "resuming"),
    Row("torch", "manual_seed seed", ROLE_SEED, OUTERMOST, 0, "seeding"),
    Row("torch.cuda", "manual_seed manual_seed_all", ROLE_SEED, OUTERMOST, 0, "seeding"),
    Row("numpy.random", "seed", ROLE_SEED, OUTERMOST, DRAW_GROUP, "seeding in workers"),
    Row("torch", "from_numpy", ROLE_FUNCTION, OUTERMOST | CONTENT, 0,
        "where data of workers enter: equal contents are a shared random state"),
    Row("torch", "empty", ROLE_FUNCTION, OUTERMOST | UNWRITTEN, 0, "memory for tensors"),
    Row("torch", "zeros ones full eye arange linspace zeros_like ones_like full_like", ROLE_FUNCTION, OUTERMOST, 0,
        "creation of tensors"),
    Row("torch", "rand randn randint randperm normal rand_like randn_like randint_like", ROLE_FUNCTION, OUTERMOST | NOISE, 0,
        "what is drawn, and whether ranks draw the same"),
    Row("torch", "exp clamp", ROLE_FUNCTION, OUTERMOST | ASK, 0,
        "ratios of probabilities are made and limited by them"),
    Row("torch.Tensor", "exp clamp", ROLE_FUNCTION, METHOD | OUTERMOST | ASK, 0, "the same as methods"),
    Row("torch", "cat stack matmul bmm einsum", ROLE_FUNCTION, OUTERMOST | ASK, 0,
        "operations on whole batches"),
    Row("accelerate.Accelerator", "prepare backward clip_grad_norm_ clip_grad_value_ accumulate "
        "unwrap_model gather save_state load_state", ROLE_LIBRARY, METHOD | RECEIVER, 0,
        "entry points of accelerate"),
    Row("transformers.PreTrainedModel", "from_pretrained save_pretrained", ROLE_LIBRARY,
        METHOD | RECEIVER, 0, "entry points of transformers"),
    Row("transformers.GenerationMixin", "generate", ROLE_LIBRARY, METHOD | RECEIVER, 0,
        "many forwards that are no training"),
    Row("peft", "get_peft_model", ROLE_LIBRARY, OUTERMOST, 0, "adapters"),
    Row("deepspeed", "initialize", ROLE_LIBRARY, OUTERMOST, 0, "engines"),
    Row("deepspeed.DeepSpeedEngine", "backward step set_gradient_accumulation_boundary save_checkpoint load_checkpoint",
        ROLE_LIBRARY, METHOD | RECEIVER, 0, "entry points of DeepSpeed"),
    Row("deepspeed.PipelineEngine", "train_batch eval_batch", ROLE_LIBRARY, METHOD | RECEIVER, 0,
        "the same of its pipelines"),
)

# What the script computes by lines of its own, which libraries do thousands of times a step: methods of torch.Tensor, and
# functions of these modules that torch's dispatcher knows or that stand in the other one, whatever releases add to them.
OPERATOR_MODULES = "torch", "torch.linalg", "torch.fft", "torch.special"
OPERATORS_OF_PYTHON = "torch.functional"

# None of these: parts of what layers of torch compute, and kernels of one library or device.
INNER_OPERATORS = ("_", "batch_norm_", "cudnn_", "fbgemm_", "miopen_", "mkldnn_", "native_", "quantized_", "rnn_", "sym_", "segment_",
                   "sparse_resize_")

# Operators that draw; and methods of distributions.
NOISE_OPERATORS = frozenset("""bernoulli bernoulli_ multinomial poisson binomial random_ exponential_ geometric_ cauchy_ log_normal_
    sample rsample""".split())

# Generators outside of torch, whose draws the script asks for by lines of its own; "*" is every public method.
DRAWS = (
    ("random", "Random", """seed getstate setstate random getrandbits randbytes randrange randint choice choices shuffle sample
        uniform triangular gauss normalvariate lognormvariate expovariate gammavariate betavariate paretovariate weibullvariate
        vonmisesvariate binomialvariate"""),
    ("torch", "Generator", "manual_seed seed set_state"),
    ("numpy.random", "RandomState", "*"),
    ("numpy.random", "Generator", "*"),
)

# This tool's own package: what it does, and its objects among others, are no part of the run.
OURS = "libtraincheck"

# What the script's own files call by name is traced whatever package it is of (named.py), but for these: they draw, log, show
# progress, read options, or speak to devices and launchers. Of the standard library a few modules alone.
UNNAMED = OURS, *"""IPython absl click clearml comet_ml fire hydra loguru matplotlib mlflow neptune omegaconf plotly psutil pynvml pytest
    requests rich seaborn tabulate tensorboard tensorboardX termcolor torch.backends torch.cuda torch.multiprocessing torch.profiler
    torch.utils.tensorboard torchinfo torchsummary tqdm tyro wandb yaml""".split()
NAMED_OF_STDLIB = frozenset("bisect copy heapq math statistics".split())
# What symbols between arrays of numpy stand for, and methods of arrays that compute nothing.
ARRAY_OPERATORS = """add subtract multiply true_divide floor_divide remainder power matmul negative absolute invert
    equal not_equal less less_equal greater greater_equal bitwise_and bitwise_or bitwise_xor""".split()
NO_ARRAY_METHODS = frozenset("byteswap copy dump dumps getfield item itemset newbyteorder resize setfield setflags tobytes tofile tolist tostring view".split())
# What computes with tensors and calls nothing that is told of: a call there is an operator.
COMPUTING = "torch.distributions",

# Operators of the language, as the methods that they stand for and the names of their operand.
SYMBOLS = {
    "__add__": ("add", "other"), "__radd__": ("add", "other"), "__iadd__": ("add_", "other"),
    "__sub__": ("sub", "other"), "__rsub__": ("rsub", "other"), "__isub__": ("sub_", "other"),
    "__mul__": ("mul", "other"), "__rmul__": ("mul", "other"), "__imul__": ("mul_", "other"),
    "__truediv__": ("div", "other"), "__rtruediv__": ("rdiv", "other"), "__itruediv__": ("div_", "other"),
    "__floordiv__": ("floor_divide", "other"), "__rfloordiv__": ("rfloor_divide", "other"),
    "__mod__": ("remainder", "other"), "__pow__": ("pow", "exponent"), "__rpow__": ("rpow", "other"),
    "__matmul__": ("matmul", "other"), "__eq__": ("eq", "other"), "__ne__": ("ne", "other"),
    "__lt__": ("lt", "other"), "__le__": ("le", "other"), "__gt__": ("gt", "other"), "__ge__": ("ge", "other"),
    "__and__": ("logical_and", "other"), "__iand__": ("logical_and_", "other"),
    "__or__": ("logical_or", "other"), "__ior__": ("logical_or_", "other"),
    "__xor__": ("logical_xor", "other"), "__ixor__": ("logical_xor_", "other"), "__invert__": ("logical_not", None),
}

# Alternatives, tried in order, where a public name has moved between versions, or stands in a package
# that loads its parts when they are asked for.
MOVED = {
    "transformers.PreTrainedModel": ("transformers.modeling_utils.PreTrainedModel",),
    "transformers.GenerationMixin": ("transformers.generation.utils.GenerationMixin",),
    "torch.amp.GradScaler": ("torch.cuda.amp.GradScaler",),
    SCHEDULER: ("torch.optim.lr_scheduler._LRScheduler",),
}

# Modules of torch that releases load when they are asked for; and classes that only newer releases have.
LATER = "torch.utils.checkpoint", *GRAPHS[1:]

# The first parameter behind the receiver, where the agent reads it.
FIRST_PARAMETERS = {OPTIMIZER + ".step": "closure", MODULE_CLASS + ".train": "mode"}

# Layers of torch.nn that only call what the user put into them: their calls are the user's.
CONTAINERS = ("Sequential", "ModuleList", "ModuleDict")

# Modules that torch calls whenever an attribute of another module is read: that is no iteration.
PARTS = ("torch.nn.utils.parametrize.ParametrizationList",)

# The name under which calls are recorded, where it is not owner.name.
PUBLIC_NAMES = {
    "torch.utils.data.dataloader._BaseDataLoaderIter.__next__": "torch.utils.data.DataLoader.__next__",
}

# By these another stream becomes the current one of a device.
STREAMS = "torch.cuda.set_stream", "torch.xpu.set_stream", "torch.accelerator.set_stream", "torch.Stream.__enter__", "torch.Stream.__exit__"

# Inside of these nothing is traced: they run code to look at it, not to train.
MUTED = (
    "torch.jit.trace", "torch.jit.trace_module", "torch.jit.script", "torch.fx.Tracer.trace",
    "torch.export.export", "torch.onnx.export",
    "torch._dynamo.convert_frame.ConvertFrame.__call__",
    "torch._dynamo.convert_frame.ConvertFrameAssert.__call__",
    "torch._dynamo.convert_frame.CatchErrorsWrapper.__call__",
    "torch._dynamo.convert_frame._compile",
)

# Predicates and machinery among the public names of functional modules.
SKIPPED_PREFIXES = ("_", "is_", "has_", "get_", "handle_", "boolean_", "assert_", "calculate_")

# Roles that windows, stages and what has passed in a window are made of: traced in selective mode too.
PHASE_ROLES = frozenset((ROLE_FORWARD, ROLE_BACKWARD, ROLE_STEP, ROLE_ZERO_GRAD, ROLE_DATA,
                         ROLE_MODE, ROLE_UNSCALE, ROLE_CLIP, ROLE_REPLAY))

# Methods of torch.Tensor whose results are memory that is still to be written.
UNWRITTEN_METHODS = frozenset("new_empty new_empty_strided resize_ resize_as_ set_".split())

# Methods of torch.Tensor that only describe it: --tensor-methods leaves them out.
DESCRIPTIONS = frozenset("""dim ndimension size numel nelement stride storage storage_offset
    storage_type untyped_storage element_size data_ptr const_data_ptr type dense_dim sparse_dim names
    stack_names dim_order""".split())

# Nor are these operators: they ask for a type, hand memory on, or wait for a call.
NO_OPERATORS = DESCRIPTIONS | UNWRITTEN_METHODS | frozenset("""can_cast promote_types result_type
    item tolist numpy cpu cuda xpu ipu mtia contiguous pin_memory share_memory_ record_stream to_mkldnn
    empty empty_like empty_permuted empty_quantized empty_strided from_file frombuffer
    backward register_hook register_post_accumulate_grad_hook apply_ map_ map2_ module_load
    rename rename_ refine_names align_to align_as""".split())
