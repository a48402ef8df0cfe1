# SPDX-License-Identifier: Apache-2.0
"""What names say that something is a secret, and what is told of it then."""
import inspect
import json
import types

import _traincheck_agent as agent

# Whole words of an option's name: --tokenizer and --max-tokens hold no secret.
_SECRET = frozenset(("key", "apikey", "token", "secret", "secrets", "password", "passwd", "pwd", "passphrase", "credential",
                     "credentials", "auth", "bearer"))
# Words after "token" where it is one of a text: token_ids, token_loss.
_OF_VOCABULARY = frozenset(("id", "ids", "index", "type", "loss", "losses", "mean", "norm", "level", "count", "mask", "logits",
                            "logprobs", "probs", "nll", "entropy", "accuracy", "weight", "weights", "dim", "len", "length", "size",
                            "embed", "embedding", "embeddings", "dropout", "order"))


def _words(name):
    """Of --hf_token, wandb.api_key, dbPassword, HFToken."""
    text = "".join(" " + c if c.isupper() and (not before.isupper() or after.islower()) else c if c.isalnum() else " "
                   for before, c, after in zip("-" + name, name, name[1:] + "-"))
    return text.lower().split()


def is_secret(name):
    words = _words(name)
    return any(word in _SECRET and not (word == "token" and after in _OF_VOCABULARY) for word, after in zip(words, [*words[1:], ""]))


def _guarded(param, is_outside):
    value, secret = json.loads(param.default) if param.default else None, is_secret(param.name)
    default = param.default
    if isinstance(value, str) and (secret or agent.is_withheld(value, is_outside)):
        default = f'{{"str":"","len":{len(value)}}}'
    elif secret and type(value) in (int, float):
        default = None
    return param._replace(default=default, secret=secret)


def guarded(signature, is_outside):
    """A signature whose defaults are told as what is given would be; is_outside: it is a package's."""
    return tuple(tuple(_guarded(param, is_outside) for param in params) for params in signature)


def _gathered(function):
    """The names of *values and **options, of which a signature here has none; of a function that is none of Python's: unknown."""
    if not issubclass(type(function), types.FunctionType):
        return ()
    code = function.__code__
    n = code.co_argcount + code.co_kwonlyargcount
    return code.co_varnames[n:n + bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)]


def flags(name, signature, function):
    """Of a function that may hand out a secret: its name says so, or that of a parameter."""
    names = (name, *_gathered(function))
    return agent.SECRET if any(map(is_secret, names)) or any(p.secret for params in signature for p in params) else 0
