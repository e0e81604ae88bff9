"""The documentation as a site: it builds without a warning, holds every page, and asks nothing of the network."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fewlabels as fl

pytest.importorskip("mkdocs")
ROOT = Path(__file__).parents[2]
LOADED = re.compile(r"<(?:script|img|iframe|source|video|audio|embed|object|link)\b[^>]*>", re.IGNORECASE)
ELSEWHERE = re.compile(r"""(?:src|href|data|srcset)\s*=\s*["']?(?:https?:)?//""", re.IGNORECASE)
NOT_LOADED = re.compile(r"""rel=["']?(?:canonical|prev|next)""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as the documentation says."""
    out = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", out], cwd=ROOT, capture_output=True,
        text=True, check=False, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return out


def test_every_page_is_there(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs")).with_suffix(".html").exists(), page


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        tags = LOADED.findall(page.read_text(encoding="utf-8"))
        assert not [tag for tag in tags if ELSEWHERE.search(tag) and not NOT_LOADED.search(tag)], page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import\s*)[\"']?(?:https?:)?//", sheet.read_text(encoding="utf-8")), sheet


def test_links_to_measurements_lead_there(site: Path) -> None:
    assert 'href="bench/coverage.html"' in (site / "tutorial.html").read_text(encoding="utf-8")
    for page in site.rglob("*.html"):
        for target in re.findall(r'href="([^"#:]+\.html)', page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists() or page.name == "404.html", f"{page}: {target}"


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    text = (site / "reference" / "python.html").read_text(encoding="utf-8")
    missing = [name for name in fl.__all__ if not re.search(rf"(?<!\w){name}(?!\w)", text)]
    assert missing == []
