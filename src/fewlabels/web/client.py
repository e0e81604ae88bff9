"""An HTTP client of the labelling page, for programs; its methods are those of a Session."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import parse_qs, urlsplit, urlunsplit
from urllib.request import Request, urlopen

from fewlabels.data.names import ItemId
from fewlabels.errors import InputError

TIMEOUT = 60.0  # seconds until a request times out


@dataclass(frozen=True)
class Client:
    """A client of a labelling page: takes a link as `fewlabels label` prints it, or an address and a token.

    With an annotator's link, answers are stored under that annotator's name: leave `who` out. Disputes, decisions,
    status and assessment need the owner's link.
    """

    address: str
    token: str = field(default="", repr=False)

    def ask(self, n: int = 1, *, who: str = "") -> list[dict[str, Any]]:
        """Return n items to label, each with its id and its shown columns."""
        found: list[dict[str, Any]] = self._send("ask", {"who": who, "n": n})["items"]
        return found

    def tell(self, labels: Mapping[ItemId, str | None], *, who: str = "", note: str = "") -> int:
        """Record answers by the page's API; return how many were recorded."""
        answers = [{"id": item, "label": label, "note": note} for item, label in labels.items()]
        return int(self._send("tell", {"who": who, "answers": answers})["kept"])

    def disputes(self, n: int = 10) -> list[dict[str, Any]]:
        """Return items on which annotators disagree, each with its votes."""
        found: list[dict[str, Any]] = self._send(f"disputes?n={n}")["items"]
        return found

    def decide(self, labels: Mapping[ItemId, str | None], *, who: str, note: str = "") -> int:
        """Record decisions on disputed items; return how many were recorded."""
        answers = [{"id": item, "label": label, "note": note} for item, label in labels.items()]
        return int(self._send("decide", {"who": who, "answers": answers})["kept"])

    def undo(self, *, who: str = "") -> ItemId | None:
        """Undo the last answer; return its item."""
        found: ItemId | None = self._send("undo", {"who": who})["id"]
        return found

    def me(self) -> dict[str, Any]:
        """Return the role of the link, owner or annotator, and the annotator's name."""
        return self._send("me")

    def status(self) -> dict[str, Any]:
        """Return the status of the session."""
        return self._send("status")

    def assessment(self) -> dict[str, Any]:
        """Return the assessment of the model from the labels so far."""
        return self._send("assessment")

    def _send(self, what: str, body: object = None) -> dict[str, Any]:
        """Send a request to the page, and return its answer."""
        parts, (name, _, query) = urlsplit(self.address), what.partition("?")
        token = self.token or parse_qs(parts.query).get("token", [""])[0]
        request = Request(
            urlunsplit((parts.scheme, parts.netloc, f"{parts.path.rstrip('/')}/api/{name}", query, "")),
            data=None if body is None else json.dumps(body).encode(),
            headers={"authorization": f"Bearer {token}", "content-type": "application/json"},
        )
        try:
            with urlopen(request, timeout=TIMEOUT) as answer:
                found: dict[str, Any] = json.load(answer)
                return found
        except HTTPError as error:
            raise InputError(f"{parts.netloc}: {_read_problem(error)}") from None
        except (URLError, OSError, HTTPException, ValueError) as error:  # a server may stop in the middle of a response
            raise InputError(f"{parts.netloc} does not answer: {getattr(error, 'reason', error)}") from None


def _read_problem(error: HTTPError) -> str:
    """Return, to the client, the message in the page's error."""
    try:
        return str(json.loads(error.read())["error"])
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return str(error.reason)
