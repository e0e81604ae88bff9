"""Pages and reports pass the checks of axe-core: WCAG 2.1 A and AA, and best practice; light and dark, wide and narrow."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from serving import serving

import fewlabels as fl
from fewlabels.web.service import LabellingService

sync_api = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python", reason="pip install axe-playwright-python, part of the extra test")
BROWSER = shutil.which("chromium")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no chromium")
SCRIPT = Path(axe.__file__).with_name("axe.min.js").read_text(encoding="utf-8") if hasattr(axe, "__file__") else ""
RULES = "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']})"
LOOKS = [(1400, "light"), (1400, "dark"), (390, "light")]


@pytest.fixture(scope="module")
def chromium():
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


def open_tab(chromium, width: int, scheme: str):
    tab = chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
    ).new_page()
    tab.set_default_timeout(60_000)
    return tab


def find_violations(tab) -> list[str]:
    tab.evaluate(SCRIPT)
    found = tab.evaluate(RULES)
    assert len(found["passes"]) > 10
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found["violations"]]


def make_reports() -> dict[str, str]:
    rng, n = np.random.default_rng(0), 400
    score = rng.uniform(0.05, 0.95, n).round(3)
    label = np.where(rng.random(n) < 0.3, (rng.random(n) < score).astype(float), np.nan)
    table = {"id": range(n), "predicted": (score > 0.5).astype(int), "score": np.maximum(score, 1 - score), "label": label, "sex": rng.choice(["f", "m"], n), "site": rng.choice(list("abc"), n)}  # fmt: skip
    grades = {"id": range(n), "human": label, "judge": score, "site": table["site"]}
    return {
        "assess": fl.assess(table).to_html(),
        "compare": fl.compare(table, by="sex", groups=("f", "m")).to_html(),
        "fairness": fl.fairness(table, by="sex", metrics="accuracy").to_html(),
        "surface": fl.surface(table, attributes=("sex", "site")).to_html(),
        "models": fl.compare_models({"old": table, "new": table | {"predicted": (score > 0.6).astype(int)}}).to_html(),
        "rate": fl.rate(grades, grade="human", judge="judge", by="site").to_html(),
    }


def test_reports_pass_and_fit_their_width(chromium) -> None:
    reports = make_reports()
    for width, scheme in LOOKS:
        tab = open_tab(chromium, width, scheme)
        for name, html in reports.items():
            tab.set_content(html)
            assert find_violations(tab) == [], (name, width, scheme)
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, name
        tab.context.close()


def test_page_and_overview_pass(chromium) -> None:
    pool = {"id": range(40), "predicted": ["cat", "dog"] * 20, "text": [f"beast {i}" for i in range(40)]}
    service = LabellingService(fl.Session.create(None, pool, goal=fl.FindWorst(), prior=fl.flat(), votes=2))
    for who in ("ann", "bob"):
        service.tell(who, [(view.id, "cat" if who == "ann" else "dog", "a note") for view in service.ask(who, 8)])
    with serving(service) as link:
        for width, scheme in LOOKS:
            tab = open_tab(chromium, width, scheme)
            tab.goto(link)
            tab.fill("#name", "kim")
            tab.keyboard.press("Enter")
            tab.wait_for_selector("#classes button")
            assert find_violations(tab) == [], width
            tab.click("#overview-link")
            tab.wait_for_selector("#latest tbody tr")
            assert find_violations(tab) == [], width
            assert tab.inner_text("#people tbody tr").startswith("ann")
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
            tab.context.close()
