# SPDX-License-Identifier: Apache-2.0
"""Names and scalar defaults of parameters.

A signature is a tuple of alternatives (most callables have one), an alternative a tuple of Param.
Builtins of torch have no Python signature; theirs are the schemas that torch's own dispatcher holds,
one for each overload.
"""
import functools
import inspect
import json  # now: a script may change sys.path before the first record
import re
import sys
from collections import namedtuple

from _traincheck_agent import ACCEPTS_ANY, ACCEPTS_INDEX, ACCEPTS_SIZES, ACCEPTS_TENSOR

# default: as JSON, None if there is none or if it is no scalar; positional: may be given by position;
# accepts: what tells overloads apart; required: has no default at all; shown: the name that is
# recorded, which differs from the name that a call may give for aliases; secret: of texts that are given the length is told, of
# numbers nothing.
Param = namedtuple("Param", "name default positional accepts required shown secret", defaults=(False,))


def json_scalar(value):
    """The JSON of a plain scalar, else None."""
    if value is None:
        return "null"
    kind = type(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return str(value) if abs(value) <= 1 << 53 else None
    if kind is float:
        return repr(value) if value == value and abs(value) != float("inf") else None
    return json_text(value) if kind is str else None


def readable(text):
    """As UTF-8 can carry it: bytes of a name that the locale cannot read stand in Python's strings as lone surrogates."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")


def json_text(value):
    return readable(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def _param(name, default=None, positional=True, accepts=ACCEPTS_ANY, required=False):
    return Param(name, default, positional, accepts, required, name)


# ---- Python functions

def _dispatched(callable_):
    """Pooling functions of torch choose by a flag between two of equal signature: one of these."""
    code = getattr(callable_, "__code__", None)
    if code is None or "if_false" not in code.co_freevars:
        return callable_
    return callable_.__closure__[code.co_freevars.index("if_false")].cell_contents


def python_parameters(callable_):
    """As of inspect.signature(), and its exceptions. Annotations are not evaluated: from Python 3.14 on that would run
    code of the user, which fails where a name is imported for type checkers alone."""
    lazily = {"annotation_format": sys.modules["annotationlib"].Format.STRING} if sys.version_info >= (3, 14) else {}
    return list(inspect.signature(callable_, **lazily).parameters.values())


def _is_made_up(callable_, params):
    """From Python 3.14 on, a builtin that states no signature and takes one argument has (object, /)."""
    return not hasattr(callable_, "__code__") and [p.name for p in params] == ["object"]


def _of_python(callable_, skip_first):
    params = python_parameters(_dispatched(callable_))
    if skip_first and params and params[0].kind is not params[0].VAR_POSITIONAL:
        params = params[1:]
    if _is_made_up(callable_, params):
        raise ValueError("no signature of its own")
    return tuple(_param(p.name, None if p.default is p.empty else json_scalar(p.default),
                        p.kind is not p.KEYWORD_ONLY)
                 for p in params if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))


# ---- schemas of torch's dispatcher

_ACCEPTS = {"Tensor": ACCEPTS_TENSOR, "int": ACCEPTS_INDEX, "List[int]": ACCEPTS_SIZES}


# Where and how a new tensor is kept: a schema writes their defaults as None or as numbers of its own.
_OPTIONS = ("dtype", "layout", "device", "pin_memory", "memory_format", "generator")


def _default_of(argument):
    if not argument.has_default_value() or argument.kwarg_only and argument.name in _OPTIONS:
        return None
    value = argument.default_value
    if isinstance(value, list) and value and value.count(value[0]) == len(value):
        value = value[0]  # one number stands for as many as there are dimensions
    return json_scalar(value)


def _of_argument(argument):
    name = "input" if argument.name == "self" else argument.name
    return _param(name, _default_of(argument), not argument.kwarg_only,
                  _ACCEPTS.get(str(argument.type), ACCEPTS_ANY),
                  not argument.has_default_value())


def _is_eager(torch, schema):
    """Operators of TorchScript alone, which have no Python binding, are unknown to the dispatcher."""
    overload = "." + schema.overload_name if schema.overload_name else ""
    return torch._C._dispatch_has_kernel(schema.name + overload)


def _is_variant(schema):
    """An overload that writes into `out`, or names dimensions: the same parameters once more."""
    return any(_is_out(a) or "Dimname" in str(a.type) for a in schema.arguments)


def _is_out(argument):
    return (argument.kwarg_only and str(argument.type) == "Tensor"
            and not argument.has_default_value())


def _unified(alternatives):
    """Overloads that differ in types alone are one; those with fewer parameters are tried first."""
    found = {}
    for params in sorted(alternatives, key=len):
        names = tuple(p.name for p in params)
        if names in found:
            params = tuple(a if a == b else b._replace(accepts=ACCEPTS_ANY)
                           for a, b in zip(params, found[names]))
        found[names] = params
    return tuple(found.values())


@functools.lru_cache(maxsize=None)
def _of_name(name):
    """The overloads of a function, and of the method of its name."""
    torch = sys.modules["torch"]
    return [tuple(map(_of_argument, schema.arguments)) for schema in torch._C._jit_get_schemas_for_operator("aten::" + name)
            if _is_eager(torch, schema) and not _is_variant(schema)]


def _of_schema(callable_, skip_first):
    name = getattr(callable_, "__name__", "")
    if "torch" not in sys.modules or not name:
        return None
    return _unified(params[1:] if skip_first else params for params in _of_name(name)) or None


# ---- doc strings, for builtins that are no operators (torch.tensor, torch.from_numpy)

_DOC = re.compile(r"^\s*[\w.]+\((.*?)\)\s*(->|$)", re.M)


def _of_doc(callable_, skip_first):
    """Builtins of torch show their signature in the first line of their doc string."""
    found = _DOC.search(callable_.__doc__ or "")
    if not found:
        return None
    out, positional = [], True
    for part in re.split(r",\s*(?![^\[(]*[\])])", found.group(1)):
        name, _, default = (piece.strip() for piece in part.partition("="))
        if name in ("*", "/", ""):
            positional = positional and name != "*"
            continue
        if name.startswith("*") or not name.split(":")[0].strip().isidentifier():
            return tuple(out) or None
        out.append(_param(name.split(":")[0].strip(), _doc_default(default), positional))
    if skip_first and out and out[0].name in ("self", "input"):
        out = out[1:]
    return tuple(out)


def _doc_default(text):
    if text in ("None", "True", "False"):
        return {"None": "null", "True": "true", "False": "false"}[text]
    try:
        return json_scalar(float(text) if "." in text or "e" in text else int(text))
    except ValueError:
        return None


# ---- what the others ask

def parameters(callable_, skip_first=False):
    """The alternatives of a callable's parameters; empty where they are unknown."""
    try:
        return (_of_python(callable_, skip_first),)
    except (TypeError, ValueError):
        pass
    try:
        found = _of_schema(callable_, skip_first)
        if found is None:
            found = _of_doc(callable_, skip_first)
            found = (found,) if found is not None else ()
        return found
    except Exception:
        return ()


def outside_parameters(callable_, skip_first=False):
    """The same of what is none of torch's: a schema of its name would be of something else."""
    try:
        return (_of_python(callable_, skip_first),)
    except (TypeError, ValueError):
        found = _of_doc(callable_, skip_first)
        return () if found is None else (found,)


def named(*names):
    """The one alternative of parameters that have these names and no defaults."""
    return (tuple(_param(name) for name in names if name),)


def like(signature, original):
    """The signature of an alias, its parameters shown as the original names them.

    A parameter is another one's namesake if it stands in the same place and neither name means
    something else on the other side: `train` of torch.dropout is `training` of F.dropout.
    """
    wanted = original[0] if original else ()
    theirs = {p.name for p in wanted}
    return tuple(tuple(_namesake(p, i, params, wanted, theirs) for i, p in enumerate(params))
                 for params in signature)


def _namesake(param, i, params, wanted, theirs):
    if param.name in theirs or i >= len(wanted) or not (param.positional and wanted[i].positional):
        return param
    taken = wanted[i].name in {p.name for p in params}
    return param if taken else param._replace(shown=wanted[i].name)


def defaults(signature):
    """The scalar defaults on which all alternatives agree, as a JSON object; None if there are none."""
    found = {}
    for params in signature:
        for p in params:
            if found.setdefault(p.shown, p.default) != p.default:
                found[p.shown] = None
    members = [f"{json_text(name)}:{default}" for name, default in found.items() if default]
    return "{" + ",".join(members) + "}" if members else None
