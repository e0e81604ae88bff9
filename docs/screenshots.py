"""Takes the pictures of the labelling page that the documentation shows: python docs/screenshots.py"""

import shutil
import threading
import time
from pathlib import Path

import numpy as np
import uvicorn
from playwright.sync_api import sync_playwright

import fewlabels as fl
from fewlabels.web.app import make_app
from fewlabels.web.listen_address import ListenAddress
from fewlabels.web.security import SecurityPolicy
from fewlabels.web.service import LabellingService

HERE = Path(__file__).parent
SIZES = {"desk": (1100, 560), "phone": (390, 844)}
TALL = {"desk": (1100, 760), "phone": (390, 1100)}  # where there is a team
SKILL = {"ann": 0.96, "bob": 0.82, "cleo": 0.9}
NOTES = {"ann": "money back is the point", "bob": "", "cleo": "it came late, too"}
SAID = {
    "delivery": "The parcel came two days late, and nobody answered the phone.",
    "praise": "Exactly what I needed. My daughter loves it, and it was here the next morning.",
    "refund": "I sent it back in March and still have not seen my money.",
    "defect": "The left hinge broke after a week of careful use.",
}


def make_service(votes: int = 1) -> LabellingService:
    """Customers' letters, sorted by a model that is worst at refunds, and labelled by people who may err."""
    rng = np.random.default_rng(4)
    truth = rng.choice(list(SAID), 3000)
    wrong = rng.random(3000) < np.where(truth == "refund", 0.4, 0.1)
    predicted = np.where(wrong, rng.choice(list(SAID), 3000), truth)
    pool = {
        "id": range(3000),
        "predicted": predicted,
        "score": rng.beta(6, 2, 3000),
        "letter": [SAID[t] for t in truth],
    }
    session = fl.Session.create(None, pool, goal=fl.FindWorst(), votes=votes)
    for _ in range(12):
        for who in SKILL if votes > 1 else ("ann",):
            for item in session.ask(10, who=who, fresh=False):
                errs = votes > 1 and rng.random() > SKILL[who]
                label = rng.choice([name for name in SAID if name != truth[item]]) if errs else truth[item]
                session.tell({item: label}, who=who, note=NOTES[who] if errs or truth[item] == "refund" else "")
    return LabellingService(session)


def main() -> None:
    """Serve the page, and look at it."""
    take_pictures(make_service(), SIZES, "page")
    take_pictures(make_service(votes=2), TALL, "settle", keys="d")


def take_pictures(service: LabellingService, sizes: dict[str, tuple[int, int]], what: str, keys: str = "") -> None:
    """Serve a desk, and look at it in every size."""
    with ListenAddress().listen() as listening_socket, sync_playwright() as play:
        security_policy = SecurityPolicy((f"127.0.0.1:{listening_socket.getsockname()[1]}",))
        server = uvicorn.Server(uvicorn.Config(make_app(service, security_policy), log_level="critical"))
        threading.Thread(target=server.run, kwargs={"sockets": [listening_socket]}, daemon=True).start()
        while not server.started:
            time.sleep(0.01)
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, (width, height) in sizes.items():
            page = browser.new_context(viewport={"width": width, "height": height}).new_page()
            page.goto(f"http://{security_policy.hosts[0]}/?token={security_policy.token}")
            page.fill("#name", "ann")
            page.keyboard.press("Enter")
            page.wait_for_selector("#picture circle")
            page.wait_for_selector("#classes button")
            for key in keys:
                page.keyboard.press(key)
                page.wait_for_selector("#dispute:not([hidden])")
            page.screenshot(path=HERE / f"{what}-{name}.png")
            if what == "settle":
                page.click("#overview-link")
                page.wait_for_selector("#latest tbody tr")
                page.screenshot(path=HERE / f"overview-{name}.png")
        browser.close()
        server.should_exit = True
        service.close()


if __name__ == "__main__":
    main()
