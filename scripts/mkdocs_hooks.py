# SPDX-License-Identifier: Apache-2.0
"""The version and the repository on each page, and links to files outside of docs/.

The repository is the origin of the checkout, if that is on the web. Then links to files lead there; else the page names
their path. A link that leads nowhere is a warning, which --strict makes an error.
"""

import logging
import os
import pathlib
import re
import subprocess

LOG = logging.getLogger("mkdocs.hooks.traincheck")
LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>\.\./[^)#\s]*)(?P<anchor>#[^)\s]*)?\)", re.S)


def root_of(config):
    return pathlib.Path(config["config_file_path"]).parent


def web_address(origin):
    """https://github.com/owner/name of what git clones from; "" if that is no host's."""
    found = re.fullmatch(r"(?:https?://|ssh://)?(?:[^@/]+@)?([\w.-]+\.\w+)(?::\d+)?[:/]([\w./-]+?)(?:\.git)?/?", origin)
    return f"https://{found[1]}/{found[2]}" if found else ""


def repository(root):
    try:
        p = subprocess.run(["git", "-C", root, "remote", "get-url", "origin"], capture_output=True, text=True)
    except FileNotFoundError:  # no git
        return ""
    return web_address(p.stdout.strip()) if p.returncode == 0 else ""


def on_config(config, **_):
    """Not repo_url of the theme: with that a page asks GitHub for stars."""
    root = root_of(config)
    header = root / "include" / "traincheck" / "version.h"
    if header.exists():
        version = re.search(r'TC_VERSION "([\d.]+)"', header.read_text())[1]
        config["site_name"] = f"{config['site_name']} {version}"
    address = config["extra"]["repository"] = repository(root)
    if address and config["nav"]:
        config["nav"].append({"Repository": address})
        config["copyright"] = f'{config["site_name"]}, <a href="{address}">{address.removeprefix("https://")}</a>'
    else:
        config["copyright"] = config["site_name"]
    return config


def on_page_markdown(markdown, page, config, **_):
    root, address = root_of(config), config["extra"]["repository"]
    folder = pathlib.Path(config["docs_dir"]) / pathlib.Path(page.file.src_path).parent

    def replace(match):
        path = pathlib.Path(os.path.normpath(folder / match["target"]))
        if not path.exists():
            LOG.warning("%s: %s leads nowhere", page.file.src_path, match["target"])
            return match[0]
        if path.is_relative_to(config["docs_dir"]):
            return match[0]
        name = path.relative_to(root).as_posix()
        if address:
            return f"[{match['text']}]({address}/blob/main/{name}{match['anchor'] or ''})"
        return match["text"] if name in match["text"] else f"{match['text']} (`{name}`)"

    return LINK.sub(replace, markdown)
