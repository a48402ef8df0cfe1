"""What files, classes and root modules are called."""
import os
import sys

from .signature import readable

_STDLIB = os.path.dirname(os.__file__) + os.sep


def working_folder():
    """None if it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return None


_FOLDER = working_folder() or os.sep  # where the process began; a script may leave it later
_PACKAGE_FOLDERS = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
_TYPED = ("<stdin>", "<python-input-", "<ipython-input-")


def _is_typed(path):
    """Is it the user's code though it stands in no file? With -c <string> is, elsewhere libraries have made it."""
    if path == "<string>":
        return getattr(sys.modules.get("__main__"), "__file__", None) is None
    return path.startswith(_TYPED)


def owner_of_file(path):
    """"user", the package a file belongs to, or None for files that calls are followed through."""
    if path.startswith("<"):
        return "user" if _is_typed(path) else None
    for folder in _PACKAGE_FOLDERS:
        if folder in path:
            return path.rpartition(folder)[2].split(os.sep)[0].partition(".")[0]
    return None if path.startswith(_STDLIB) else "user"


def _cell(path):
    """What IPython's own tracebacks call a cell of a notebook, "In[2]"; None for other files."""
    try:
        return sys.modules["IPython"].get_ipython().compile.format_code_name(path)[1]
    except Exception:  # no IPython, none that runs, an older one, no cell
        return None


def place_of_file(path):
    """Its owner, and for the user's own files the path as one would type it in the job's terminal.

    Returns:
        tuple: (owner as in owner_of_file, path or None). The path is relative for files below the
        folder in which the process began, else absolute and without `..`; code that stands in no file
        has Python's name for it, or that of its cell.
    """
    owner = owner_of_file(path)
    if owner != "user":
        return owner, None
    shown = _cell(path) or (path if path.startswith("<") else None)
    if shown:
        return owner, readable(shown)
    path = os.path.normpath(os.path.join(_FOLDER, path))
    return owner, readable(path.removeprefix(_FOLDER.rstrip(os.sep) + os.sep))


def is_user_function(function):
    """Also when a decorator of a package, such as torch.no_grad(), stands around it."""
    for _ in range(8):
        function = getattr(function, "__wrapped__", function)
    code = getattr(function, "__code__", None)
    return code is not None and owner_of_file(code.co_filename) == "user"


def class_name(cls):
    """The shortest public path that leads to the class."""
    module, name = cls.__module__ or "", cls.__qualname__
    if module == "builtins":
        return name
    if module == "__mp_main__":  # the script in a spawned process
        module = "__main__"
    parts = module.split(".")
    for n in range(1, len(parts)):
        package = sys.modules.get(".".join(parts[:n]))
        if package is not None and getattr(package, "__dict__", {}).get(name) is cls:
            return ".".join(parts[:n]) + "." + name
    return module + "." + name


def _place_in(value, module, depth):
    """Where a plain container holds the module, as "[2]"; None if it does not."""
    if value is module:
        return ""
    items = enumerate(value) if type(value) in (list, tuple) else value.items() if type(value) is dict else ()
    for key, item in items if depth else ():
        found = _place_in(item, module, depth - 1)
        if found is not None:
            return f"[{key!r}]{found}"
    return None


def name_in_module(holder, module):
    """The path from a module to one that it keeps beside its children, as "branches[2]", or None."""
    for name, value in list(vars(holder).items()):
        found = None if name == "_modules" else _place_in(value, module, 2)
        if found is not None:
            return name + found
    return None


def name_of_root(module):
    """The script's own variable that holds the module, innermost frame first."""
    frame = sys._getframe(1)
    while frame is not None:
        if owner_of_file(frame.f_code.co_filename) == "user":
            for scope in (frame.f_locals, frame.f_globals):
                for name, value in list(scope.items()):
                    if value is module and name != "self":
                        return name
        frame = frame.f_back
    return type(module).__name__.lower()
