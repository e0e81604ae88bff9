"""The parts of the bench: how each is run, and where its page is kept."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

HERE = Path(__file__).parent
EFFICIENCY = "bench.label_efficiency"
WITH_POOLS = (EFFICIENCY, "bench.models", "bench.peers", "bench.replay", "bench.coverage")
Pace = Literal["full", "brief", "quick"]


@dataclass(frozen=True)
class Part:
    """A measurement: its name, how it is run, and with what besides when time is short."""

    name: str
    module: str
    words: tuple[str, ...] = ()
    briefly: tuple[str, ...] = ()
    quickly: tuple[str, ...] = ()
    folder: str = ""  # of its page, where that is not this one

    def command(self, out: Path, pools: Path, pace: Pace) -> list[str]:
        """Return the command that writes its page."""
        place = out if self.module == EFFICIENCY else out / f"{self.name}.md"
        where = ("--pools", str(pools)) if self.module in WITH_POOLS else ()
        when = {"full": (), "brief": self.briefly, "quick": self.quickly}[pace]
        return [sys.executable, "-m", self.module, *self.words, *where, *when, "--out", str(place)]

    @property
    def kept(self) -> Path:
        """Where its page is kept."""
        return HERE / self.folder / f"{self.name}.md"


PARTS = (
    Part("speed", "bench.speed", quickly=("--rows", "100000", "--repeats", "2")),
    Part("scale", "bench.scale", briefly=("--rows", "10000000"), quickly=("--rows", "100000", "--repeats", "1")),
    Part("replay", "bench.replay", quickly=("--repeats", "1", "--steps", "50")),
    Part("asking", "bench.asking"),
    Part("learning", "bench.learning"),
    Part("surfaces", "bench.surfaces"),
    Part("fairness", "bench.fairness", (), ("--rows", "1000000"), ("--rows", "100000", "--repeats", "1")),
    Part("page", "bench.page", (), ("--answers", "2000"), ("--answers", "500")),
    Part("faults", "bench.faults", (), ("--repeats", "5"), ("--repeats", "1")),
    Part("votes", "bench.votes", (), ("--runs", "10"), ("--runs", "2")),
    Part("models", "bench.models", (), ("--runs", "2"), ("--runs", "1", "--only", "cifar10 resnet110 wideresnet")),
    Part("peers", "bench.peers", (), ("--runs", "4"), ("--runs", "2", "--only", "snacks20")),
    Part("coverage", "bench.coverage", (), ("--repeats", "20"), ("--repeats", "5", "--only", "cifar10_resnet110")),
    *(
        Part(name, EFFICIENCY, (name,), ("--runs", "10"), ("--runs", "2", "--only", "snacks20"), "label_efficiency")
        for name in ("accuracies", "calibration", "confusion", "comparison", "finding")
    ),
)
