# SPDX-License-Identifier: Apache-2.0
"""Values that C code leaves to Python because they are rare."""
import sys

import _traincheck_agent as agent
from . import names
from .signature import json_scalar, json_text

MAX_CONTENT = 1 << 20


def numpy_json(value, serial, has_digest):
    numpy = sys.modules["numpy"]
    if isinstance(value, numpy.generic):
        scalar = json_scalar(value.item())
        return scalar if scalar is not None else json_text(str(value))
    if not isinstance(value, numpy.ndarray):
        return json_text(str(value)[:256]) if isinstance(value, numpy.dtype) else None
    shape = ",".join(map(str, value.shape))
    ident = f',"id":{serial}' if serial else ""
    digest = ""
    if has_digest and value.nbytes <= MAX_CONTENT and value.dtype.kind in "biufc":
        digest = f',"digest":"{agent.digest(value.tobytes(), str(value.dtype), ()):016x}"'
    return (f'{{"array":"ndarray"{ident},"shape":[{shape}],"dtype":{json_text(str(value.dtype))},'
            f'"device":"cpu","requires_grad":false{digest}}}')


def autocast_json():
    """{device: dtype} of the enabled autocast contexts, or None."""
    torch = sys.modules["torch"]
    found = []
    for device in ("cpu", "cuda"):
        try:
            enabled = torch.is_autocast_enabled(device)
            dtype = torch.get_autocast_dtype(device) if enabled else None
        except TypeError:  # before torch 2.4
            enabled = torch.is_autocast_enabled() if device == "cuda" \
                else torch.is_autocast_cpu_enabled()
            dtype = torch.get_autocast_gpu_dtype() if device == "cuda" \
                else torch.get_autocast_cpu_dtype()
        if enabled:
            found.append(f'"{device}":"{str(dtype)[6:]}"')
    return "{" + ",".join(found) + "}" if found else None


def _part(tensor):
    """Which part of a distributed tensor this process holds: its place in the dimensions of the mesh that split it.
    None where the mesh has not all ranks: those of another mesh may hold other tensors of that name."""
    mesh = tensor.device_mesh
    place = mesh.get_coordinate()
    if place is None or mesh.size() != sys.modules["torch.distributed"].get_world_size():
        return None
    return [at for at, placement in zip(place, tensor.placements) if not placement.is_replicate()]


def _begin(tensor):
    """Where the part that this process holds begins in the whole, in elements; None unless it is one piece of rows of it, as
    Shard(0) of torch.chunk() gives it."""
    splits = [(at, n, p) for at, n, p in zip(tensor.device_mesh.get_coordinate() or (), tensor.device_mesh.shape, tensor.placements)
              if not p.is_replicate()]
    if len(splits) != 1 or type(splits[0][2]).__name__ != "Shard" or splits[0][2].dim != 0:
        return None
    at, n, _ = splits[0]
    rows, row = tensor.shape[0], tensor.shape[1:].numel()
    return min(rows, at * -(-rows // n)) * row


def placement_json(tensor):
    """Members of attrs that say what of a distributed tensor this process holds, and where its part begins, 0 if that is not known."""
    placements = ",".join(json_text(str(p)) for p in tensor.placements)
    mesh = ",".join(str(n) for n in tensor.device_mesh.shape)
    members = f'"placements":[{placements}],"mesh":[{mesh}]'
    if all(p.is_replicate() for p in tensor.placements):
        return members, 0
    part = _part(tensor)
    begin = None if part is None else _begin(tensor)
    said = ("" if part is None else f'"part":{json_text(part)},') + ("" if begin is None else f'"begin":{begin},')
    return '"sharded":true,' + said + members, begin or 0


def scaler_settings(scaler):
    """What a GradScaler is set to. Once it has been used its scale is a tensor, on the device perhaps."""
    found = vars(scaler)
    if not found.get("_enabled"):
        return {"enabled": False}
    scale = found.get("_scale")
    return {"enabled": True, "scale": found.get("_init_scale") if scale is None else scale}


def found_inf(scaler, optimizer):
    """What a GradScaler has found of the gradients of an optimizer since its last update: a number on each device, not 0 where one is not
    finite."""
    states = vars(scaler).get("_per_optimizer_states")
    state = states.get(id(optimizer)) if isinstance(states, dict) else None
    found = state.get("found_inf_per_device") if isinstance(state, dict) else None
    return list(found.values()) if isinstance(found, dict) else []


class Shield:
    """Hides our reading from the function and dispatch modes of the user."""

    def __enter__(self):
        torch = sys.modules["torch"]
        self._function = torch._C.DisableTorchFunction()
        self._dispatch = torch._C._DisableTorchDispatch() \
            if hasattr(torch._C, "_DisableTorchDispatch") else None
        self._function.__enter__()
        return self

    def __exit__(self, *_):
        self._function.__exit__(None, None, None)
        self._function = self._dispatch = None


def shield():
    """One that is up: its __exit__ is called later."""
    return Shield().__enter__()


def dispatches(cls, torch):
    """Are operators on its tensors code of the user? Then they may be mere wrappers, without memory."""
    dispatch = getattr(cls, "__torch_dispatch__", None)
    return dispatch is not None and dispatch is not getattr(torch.Tensor, "__torch_dispatch__", None)


def _bytes_of(tensor):
    """What a wrapper around other tensors holds: those that it shows to torch.compile, one after the other."""
    torch = sys.modules["torch"]
    parts = [_read(getattr(tensor, name)) for name in tensor.__tensor_flatten__()[0]]
    if not parts or any(part is None for part in parts):
        return None
    return torch.cat([part.reshape(-1).view(torch.uint8) for part in parts])


def is_captured(tensor):
    """Is what is computed on its device kept in a graph, to be done later?"""
    asked = getattr(getattr(sys.modules["torch"], tensor.device.type, None), "is_current_stream_capturing", None)
    return asked is not None and asked()


def _read(tensor):
    torch = sys.modules["torch"]
    if dispatches(type(tensor), torch):
        return _bytes_of(tensor) if hasattr(tensor, "__tensor_flatten__") else None
    if tensor.device.type == "meta" or tensor.is_quantized:
        return None
    if is_captured(tensor):
        return None
    with torch.no_grad():
        found = tensor.detach()
        if found.layout is not torch.strided:
            found = found.to_dense()
        return found.resolve_conj().resolve_neg().cpu().contiguous()


def content(tensor):
    """A contiguous tensor on the CPU with the same content, or None where there is none to read."""
    with Shield():
        return _read(tensor)


def as_double(tensor):
    """The content as numbers of double precision, or None where there are no numbers to read."""
    with Shield():
        found = None if tensor.is_complex() else _read(tensor)
        return None if found is None else found.to(sys.modules["torch"].float64)


def name_of_root(module):
    from . import settings
    name = names.name_of_root(module)
    wanted = settings.many("model")
    return name if not wanted or name in wanted else None
