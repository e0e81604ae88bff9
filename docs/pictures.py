"""Takes the pictures of the demo that README and documentation show: python docs/pictures.py"""

import shutil
import tempfile
from contextlib import chdir
from pathlib import Path

from matplotlib.figure import Figure
from playwright.sync_api import sync_playwright

import fewlabels as fl
from fewlabels.cli.demo import run_demo
from fewlabels.reporting.plots.figure import find_figure

HERE = Path(__file__).parent.absolute()


def main() -> None:
    """Assess the demo's digits; take the top of the report, and the learned calibration curve."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        found = fl.assess(str(run_demo("demo").predictions))
        take_top(found.report("report.html").absolute())
        find_figure(found.reliability().plot()).savefig(HERE / "calibrated.png", dpi=100)
        compare_priors("demo/digits.csv").savefig(HERE / "concept-prior.png", dpi=100)
        difference = fl.compare("demo/digits.csv", groups=("1", "8"), rope=0.05)
        find_figure(difference.plot()).savefig(HERE / "concept-rope.png", dpi=100)


def compare_priors(file: str) -> Figure:
    """Draw the intervals of every group under two priors, one beside the other."""
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    for prior, ax in zip(("flat", "calibrated"), figure.subplots(1, 2, sharex=True), strict=True):
        fl.assess(file, by="predicted", prior=prior).plot("intervals", ax=ax)
        ax.set_xlim(0.45, 1.01)
        ax.set_title(f"prior: {prior}", loc="left", fontsize=11, pad=16)
    return figure


def take_top(report: Path) -> None:
    """Take the top of a page."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_context(viewport={"width": 1180, "height": 1180}).new_page()
        page.goto(report.as_uri())
        page.screenshot(path=HERE / "report.png")
        browser.close()


if __name__ == "__main__":
    main()
