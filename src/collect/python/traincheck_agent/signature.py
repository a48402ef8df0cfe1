"""Names and scalar defaults of parameters."""
import inspect
import re


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


def json_text(value):
    import json
    return json.dumps(value, separators=(",", ":"))


def _of_python(callable_, skip_first):
    params = list(inspect.signature(callable_).parameters.values())
    if skip_first and params and params[0].kind is not params[0].VAR_POSITIONAL:
        params = params[1:]
    out = []
    for p in params:
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        default = None if p.default is p.empty else json_scalar(p.default)
        out.append((p.name, default, p.kind is not p.KEYWORD_ONLY))
    return tuple(out)


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
        out.append((name.split(":")[0].strip(), _doc_default(default), positional))
    if skip_first and out and out[0][0] in ("self", "input"):
        out = out[1:]
    return tuple(out)


def _doc_default(text):
    if text in ("None", "True", "False"):
        return {"None": "null", "True": "true", "False": "false"}[text]
    try:
        return json_scalar(float(text) if "." in text or "e" in text else int(text))
    except ValueError:
        return None


def parameters(callable_, skip_first=False):
    """(name, default as JSON or None, may be positional) of each parameter; None if unknown."""
    try:
        return _of_python(callable_, skip_first)
    except (TypeError, ValueError):
        pass
    try:
        return _of_doc(callable_, skip_first)
    except Exception:
        return None


def defaults(params):
    """The scalar defaults as a JSON object, or None if there are none."""
    found = [f"{json_text(name)}:{default}" for name, default, _ in params or () if default]
    return "{" + ",".join(found) + "}" if found else None
