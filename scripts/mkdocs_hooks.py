# SPDX-License-Identifier: Apache-2.0
"""What the site does with links to files beside docs/: a link to the repository if mkdocs.yml names one, else their path.

One that leads nowhere is a warning, which --strict makes an error.
"""

import logging
import os
import pathlib
import re

LOG = logging.getLogger("mkdocs.hooks.traincheck")
LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>\.\./[^)#\s]*)(?P<anchor>#[^)\s]*)?\)", re.S)


def on_page_markdown(markdown, page, config, **_):
    root = pathlib.Path(config["config_file_path"]).parent
    folder = pathlib.Path(config["docs_dir"]) / pathlib.Path(page.file.src_path).parent

    def replace(match):
        path = pathlib.Path(os.path.normpath(folder / match["target"]))
        if not path.exists():
            LOG.warning("%s: %s leads nowhere", page.file.src_path, match["target"])
            return match[0]
        if path.is_relative_to(config["docs_dir"]):
            return match[0]
        name = path.relative_to(root).as_posix()
        if config["repo_url"]:
            return f"[{match['text']}]({config['repo_url'].rstrip('/')}/blob/main/{name}{match['anchor'] or ''})"
        return match["text"] if name in match["text"] else f"{match['text']} (`{name}`)"

    return LINK.sub(replace, markdown)
