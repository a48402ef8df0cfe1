# SPDX-License-Identifier: Apache-2.0
"""One rank of a job that is not there: torch.distributed on its fake process group.

Its collectives leave each rank with its own values, as if all ranks had the same. What is captured is the program."""
import os
import sys


def environment(rank, world):
    """As torchrun sets it for one host."""
    values = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": world, "GROUP_RANK": 0,
              "GROUP_WORLD_SIZE": 1, "ROLE_RANK": rank, "ROLE_WORLD_SIZE": world, "ROLE_NAME": "default",
              "TORCHELASTIC_RESTART_COUNT": 0, "TORCHELASTIC_MAX_RESTARTS": 0, "TORCHELASTIC_RUN_ID": "none"}
    os.environ.update({key: str(value) for key, value in values.items()})
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29500")


def _replace(name, function):
    """In every module of torch that has imported it by name."""
    original = getattr(sys.modules["torch.distributed"], name, None)
    if original is None:
        return None
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("torch") and vars(module).get(name) is original:
            setattr(module, name, function(original))
    return original


def _started(rank, world):
    def wrap(original):
        def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, *_args, pg_options=None,
                               device_id=None, **_kwargs):
            if world_size not in (-1, None, world):
                raise ValueError(f"init_process_group: the script says world_size={world_size}, but "
                                 f"--plan-world {world} was given")
            from torch.testing._internal.distributed.fake_pg import FakeStore
            return original("fake", store=FakeStore(), rank=rank, world_size=world)
        return init_process_group
    return wrap


def _without_backend(original):
    def new_group(ranks=None, timeout=None, backend=None, pg_options=None, **kwargs):
        return original(ranks, **kwargs)
    return new_group


def _all_alike(original):
    def all_gather_object(object_list, obj, group=None):
        object_list[:] = [obj] * len(object_list)
    return all_gather_object


def _to_one(original):
    def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
        if object_gather_list:
            object_gather_list[:] = [obj] * len(object_gather_list)
    return gather_object


def _is_outside(group):
    """Is the rank none of the group? Torch leaves it alone."""
    return group is not None and group == sys.modules["torch.distributed"].GroupMember.NON_GROUP_MEMBER


def _source(src, group, group_src):
    """The global rank that gives."""
    if group_src is not None:
        return sys.modules["torch.distributed"].get_global_rank(group, group_src) if group else group_src
    return src or 0


def _given_to_all(mail):
    def wrap(original):
        def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
            if _is_outside(group):
                return
            there, values = mail.exchange("broadcast", list(object_list), _source(src, group, group_src), group)
            if there:
                object_list[:] = values
        return broadcast_object_list
    return wrap


def _given_to_each(mail):
    def wrap(original):
        def scatter_object_list(scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None):
            if _is_outside(group):
                return
            there, values = mail.exchange("scatter", scatter_object_input_list, _source(src, group, group_src), group)
            if there and values:
                scatter_object_output_list[0] = values[sys.modules["torch.distributed"].get_rank(group)]
        return scatter_object_list
    return wrap


def _not_loaded(_original):
    def load(*_args, **_kwargs):
        return None
    return load


def prepare():
    """Once for all ranks, before they are forked: what takes a second to import."""
    try:
        import torch.distributed.checkpoint  # noqa: F401
    except ImportError:
        pass


def _leave_checkpoints():
    """torch.distributed.checkpoint reads nothing: the verifier gives parameters other values. What it writes: plan_step."""
    checkpoint = sys.modules.get("torch.distributed.checkpoint")
    if hasattr(checkpoint, "load"):
        checkpoint.load = _not_loaded(checkpoint.load)


def _no_wait(original):
    def monitored_barrier(*_args, **_kwargs):
        return None
    return monitored_barrier


def _mean_hook(_state, bucket):
    """What DDP's reducer does itself, by operators that can be seen."""
    torch = sys.modules["torch"]
    state, (group, size) = bucket.buffer(), _state
    state.div_(size)
    torch.distributed.all_reduce(state, group=group)
    future = torch.futures.Future()
    future.set_result(state)
    return future


def _ddp_hooks():
    """The reducer of C++ expects a result of the collective that the fake process group does not give."""
    ddp = sys.modules["torch"].nn.parallel.DistributedDataParallel
    forward, register = ddp.forward, ddp.register_comm_hook

    def register_comm_hook(self, state, hook):
        self.__dict__["_plan_hooked"] = True
        return register(self, state, hook)

    def hooked_forward(self, *args, **kwargs):
        if not self.__dict__.get("_plan_hooked"):
            group = self.process_group
            register_comm_hook(self, (group, group.size()), _mean_hook)
        return forward(self, *args, **kwargs)
    ddp.register_comm_hook, ddp.forward = register_comm_hook, hooked_forward


def _pipeline_votes(torch):
    """Stages ask their neighbours whether shapes are given: they must be."""
    stage = sys.modules.get("torch.distributed.pipelining.stage")
    kind = getattr(stage, "PipelineStage", None)

    def given(self, *_args, **_kwargs):
        return torch.ones(1, dtype=torch.int32)
    for name in ("_warmup_forward_vote", "_warmup_backward_result"):
        if hasattr(kind, name):
            setattr(kind, name, given)


def install(rank, world, mail):
    """Redirect torch.distributed of this process; mail: what ranks give each other as objects."""
    mail.enter(rank)
    import torch
    import torch.testing._internal.distributed.fake_pg  # noqa: F401  registers the backend
    import torch.distributed.device_mesh  # noqa: F401  which has functions by name
    _replace("init_process_group", _started(rank, world))
    _replace("new_group", _without_backend)
    for name, wrap in (("all_gather_object", _all_alike), ("gather_object", _to_one),
                       ("broadcast_object_list", _given_to_all(mail)), ("scatter_object_list", _given_to_each(mail)),
                       ("monitored_barrier", _no_wait)):
        _replace(name, wrap)
    _ddp_hooks()
    _leave_checkpoints()
    try:
        import torch.distributed.pipelining.stage  # noqa: F401
        _pipeline_votes(torch)
    except ImportError:
        pass
