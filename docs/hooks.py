"""What the site adds to the pages as they lie here: measurements and notes that live elsewhere in the project.

Links between them are written so that they work where the files lie. On the site `docs/` is the root, so they are
turned as pages are read; a link to something that is not on the site becomes its name alone.
"""

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
TAKEN = ("VISION.md", "CHANGELOG.md", "bench/**/*.md", "bench/**/*.png", "experiments/**/*.md", "experiments/**/*.png")
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Take in what lies outside the folder of the documentation."""
    for pattern in TAKEN:
        for path in sorted(ROOT.glob(pattern)):
            files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, files: Files, **_: Any) -> str:
    """Turn links of the project into links of the site."""
    source = page.file.src_uri
    if source.startswith(("bench/", "experiments/")):
        page.meta["search"] = {"exclude": True}  # tables of figures drown everything else
    place = f"docs/{source}" if files.get_file_from_path(source) and not (ROOT / source).exists() else source

    def turn(found: re.Match[str]) -> str:
        mark, text, target, anchor = found.groups(default="")
        there = normpath(str(PurePosixPath(place).parent / target)).removeprefix("docs/")
        if files.get_file_from_path(there) is None:
            return text
        return f"{mark}[{text}]({relpath(there, str(PurePosixPath(source).parent))}{anchor})"

    return LINK.sub(turn, markdown)
