"""Command lines: for a document of each kind those that read it, and random options on valid files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

TABLES = (
    "table.csv", "table.csv.gz", "table.csv.zst", "table.tsv", "table.tsv.gz", "table.jsonl", "table.jsonl.gz", "table.ndjson", "table.json",
    "table.json.gz", "columns.json", "table.parquet", "table.arrow", "table.ipc", "table.feather",
)  # fmt: skip
LOGS = ("samples_choices.jsonl", "samples_generated.jsonl", "samples_packed.jsonl.gz", "inspect.json", "inspect.eval")
SHEETS = ("tasks.json", "short_tasks.json", "sheet.csv", "sheet.jsonl")
MODELS = ("old.csv", "new.parquet", "wide.csv", "long.csv")  # predictions of two models
JUDGED = ("judged.csv", "judged.parquet", "preferences.csv", "grades.csv")  # grades of people and of judges
MODEL_SESSION = "models.db"
SESSIONS = ("session.db", "votes.db", MODEL_SESSION)
OTHERS = (
    "kept.surface", "earlier.json", "earlier_classes.json", "costs.csv", "labels.csv", "labels.jsonl", "labels.parquet", "mix.csv",
    "session.db.keys",
)  # fmt: skip
OPTIONS = "options"  # a kind of case of its own: nothing is damaged
WATCH, TERMINAL = "watch", "terminal"  # a folder of files, and what is typed at a terminal
NO_DOCUMENT = (OPTIONS, WATCH, TERMINAL)
KINDS = (
    *TABLES,
    *LOGS,
    *MODELS,
    *JUDGED,
    *SHEETS,
    *SESSIONS,
    *OTHERS,
    *6 * (OPTIONS,),
    *3 * ("kept.surface", *SESSIONS),
    *2 * (WATCH, TERMINAL),
)
JSON = ("--json", "-")
SHORT = ("--goal", "estimate", "--by", "sex", "--prior", "flat")
NEW = ("--session", "new.db")


@dataclass(frozen=True)
class Command:
    """A command line, and the other documents it needs beside the damaged one."""

    words: tuple[str, ...]
    beside: tuple[str, ...] = ()
    stdin: str | None = None  # the document that is piped in


COMPILED = ("simulate", "plan")  # verbs that compile for a minute when they are first used


def choose_command(rng: Random, kind: str, *, quick: bool) -> Command:
    """Choose how a damaged document is read; quick ones compile nothing."""
    return rng.choice([command for command in list_commands(kind) if not quick or command.words[0] not in COMPILED])


def list_commands(kind: str) -> list[Command]:
    """List the command lines that read a document of this kind; each can answer where it is not damaged."""
    if kind in TABLES:
        return [*map(Command, _read_table(kind)), *_pipe_table(kind)]
    if kind in LOGS:
        return list(map(Command, _read_log(kind)))
    if kind in SHEETS:
        more: tuple[tuple[str, ...], ...] = (("--new-classes",), ("--as", "kim"))
        return [
            Command(("import", kind, "--session", "session.db", *words), ("session.db",)) for words in ((), *more)
        ] + [Command(("import", kind, "--session", "votes.db", "--as", "kim"), ("votes.db",))]
    if kind in SESSIONS:
        return _list_session_commands(kind)
    return list(_OTHER_USES[kind])


def _read_log(kind: str) -> tuple[tuple[str, ...], ...]:
    return (
        ("doctor", kind, *JSON),
        ("assess", kind, "--prior", "flat", *JSON),
        ("ask", kind, *NEW, "--goal", "estimate", "--hide-labels", *JSON),
    )


def _read_table(kind: str) -> tuple[tuple[str, ...], ...]:
    return (
        ("doctor", kind, *JSON), ("doctor", kind), ("assess", kind, *JSON), ("assess", kind, "--by", "sex", "--prior", "flat"),
        ("assess", kind, "--by", "bins:3", "--metric", "ece", "--draws", "500", *JSON),
        ("compare", kind, "--by", "sex", "--groups", "f,m", *JSON),
        ("fairness", kind, "--by", "sex", "--positive", "a", "--method", "frequency", *JSON),
        ("surface", kind, "--attributes", "sex,age", *JSON), ("rate", kind, "--grade", "age", "--judge", "score", "--by", "sex", *JSON), ("ask", kind, *NEW, *SHORT, *JSON),
        ("assess", kind, "--positive-score", "p1", "--positive", "a", "--metric", "tpr", "--by", "all", *JSON),
        ("plan", kind, *SHORT, "--target-width", "0.6", "--runs", "2", "--jobs", "1", *JSON),
        ("simulate", kind, *SHORT, "--runs", "2", "--budget", "5", "--jobs", "1", *JSON),
    )  # fmt: skip


def _pipe_table(kind: str) -> Iterator[Command]:
    ending = {"ipc": "arrow", "feather": "arrow", "ndjson": "jsonl"}.get(
        kind.rpartition(".")[2], kind.rpartition(".")[2]
    )
    if ending in ("csv", "tsv", "parquet", "jsonl", "json", "arrow"):
        piped = ("-", "--format", ending, "--prior", "flat", *JSON)
        yield Command(("assess", *piped), stdin=kind)
        yield Command(("compare", *piped, "--by", "sex", "--groups", "f,m"), stdin=kind)


def _list_session_commands(kind: str) -> list[Command]:
    if kind == MODEL_SESSION:
        return [Command(words, ("old.csv", "new.parquet")) for words in _use_models()]
    return [Command(words, ("table.csv", "sheet.csv")) for words in _use_session(kind)]


def _use_models() -> tuple[tuple[str, ...], ...]:
    named, files = ("--session", MODEL_SESSION), ("old.csv", "new.parquet")
    return (
        ("status", *named, *JSON), ("status", *named), ("export", *named, "--out", "-"), ("ask", *files, *named, "--as", "kim", *JSON),
        ("ask", *named, "--as", "kim", *JSON), ("tell", *named, "--undo", "--as", "kim"), ("tell", "23=a", *named, "--as", "kim"),
        ("backup", *named, "--out", "new.db"), ("access", *named, "--invite", "kim"), ("export", *named, "--pending", "--out", "-"),
    )  # fmt: skip


def _use_session(kind: str) -> tuple[tuple[str, ...], ...]:
    named = ("--session", kind)
    return (
        ("status", *named, *JSON), ("status", *named), ("export", *named, "--out", "-"), ("export", *named, "--pending", "--out", "-"),
        ("export", *named, "--votes", "--out", "-"), ("ask", *named, "--as", "kim", *JSON), ("ask", "table.csv", *named, "--as", "kim", *JSON),
        ("tell", "1=a", "2=b", *named, "--as", "kim"), ("tell", *named, "--undo", "--as", "kim"),
        ("import", "sheet.csv", *named, "--as", "lee"), ("export", *named, "--disputes", "--out", "-"), ("backup", *named, "--out", "new.db"),
        ("export", *named, "--out", "new.jsonl"), ("export", *named, "--pending", "--out", "new.json"), ("access", *named, "--invite", "kim"),
        ("label", "table.csv", *named, "--terminal", "--as", "kim"),
    )  # fmt: skip


_MODEL_USES = {
    **{
        name: tuple(
            Command(("compare", "old.csv", "new.parquet", *words, *JSON), ("old.csv", "new.parquet"))
            for words in ((), ("--by", "sex", "--prior", "flat"), ("--metric", "recall"), ("--unpaired",), ("--metric", "brier"))
        )
        for name in ("old.csv", "new.parquet")
    },
    "wide.csv": (Command(("compare", "wide.csv", "--models", "old,new", *JSON)), Command(("compare", "wide.csv", "--models", "old,new", "--by", "sex"))),
    "long.csv": (Command(("compare", "long.csv", "--model", "model", *JSON)), Command(("compare", "long.csv", "--model", "model", "--finite-pool"))),
}  # fmt: skip
_GRADE_USES = {
    **{
        name: (
            Command(("rate", name, *JSON)), Command(("rate", name, "--by", "slice", "--bar", "4", *JSON)), Command(("rate", name)),
            Command(("rate", name, "--grade", "human", "--judge", "judge", "--cluster", "slice", "--finite-pool", *JSON)), Command(("doctor", name, *JSON)),
        )
        for name in ("judged.csv", "judged.parquet")
    },
    "preferences.csv": (Command(("rate", "preferences.csv", *JSON)), Command(("rate", "preferences.csv", "--by", "slice"))),
    "grades.csv": (Command(("rate", "judged.csv", "--judge", "judge", "--grade", "human", "--labels", "grades.csv", *JSON), ("judged.csv",)),),
}  # fmt: skip
_OTHER_USES = {
    **_MODEL_USES,
    **_GRADE_USES,
    "kept.surface": (
        Command(("surface", "kept.surface", *JSON)),
        Command(("surface", "kept.surface", "--ask", "sex=f", *JSON)),
        Command(("surface", "kept.surface", "--mix", "mix.csv", "--weight", "n", *JSON), ("mix.csv",)),
    ),
    "earlier.json": (
        Command(("assess", "table.csv", "--by", "sex", "--prior", "earlier.json", *JSON), ("table.csv",)),
        Command(("ask", "table.csv", *NEW, "--by", "sex", "--goal", "find-worst", "--prior", "earlier.json", *JSON), ("table.csv",)),
    ),
    "earlier_classes.json": (
        Command(("assess", "table.csv", "--metric", "confusion", "--prior", "earlier_classes.json", *JSON), ("table.csv",)),
    ),
    "costs.csv": (
        Command(("assess", "table.csv", "--metric", "cost", "--cost", "costs.csv", "--draws", "500", *JSON), ("table.csv",)),
    ),
    **{
        name: (Command(("assess", "table.csv", "--labels", name, "--prior", "flat", *JSON), ("table.csv",)),)
        for name in ("labels.csv", "labels.jsonl", "labels.parquet")
    },
    "session.db.keys": tuple(
        Command(("access", "--session", "session.db", *words), ("session.db",))
        for words in ((), ("--invite", "lee,max"), ("--revoke", "kim"))
    ),
    "mix.csv": (
        Command(("surface", "kept.surface", "--mix", "mix.csv", *JSON), ("kept.surface",)),
        Command(("surface", "kept.surface", "--mix", "mix.csv", "--weight", "n", *JSON), ("kept.surface",)),
    ),
}  # fmt: skip

# -- random options ---------------------------------------------------------------------------------------------------

METRICS = (
    "accuracy", "ece", "brier", "log-loss", "confusion", "cost", "precision", "recall", "f1", "balanced-accuracy", "mcc", "tpr", "fpr", "tnr", "fnr",
    "ppv", "npv", "fdr", "for", "selection-rate", "nonsense",
)  # fmt: skip
BY = ("all", "predicted", "bins", "bins:2", "bins:equal-mass:3", "sex", "age", "ranges:age", "sex,age", "sex,predicted", "text", "id", "", "bins:0", "ranges:sex", "nowhere")  # fmt: skip
PRIORS = ("calibrated", "smooth", "scores", "flat", "earlier.json", "earlier_classes.json", "nonsense", "table.csv")
NUMBERS = ("0.5", "0.2", "0.9", "0.05", "1", "2", "3", "0", "-1", "0.999999", "1e-9", "1e300", "nan", "-inf", "x", "")
COUNTS = ("1", "2", "0", "3", "7", "-1", "99999999999999999999", "1.5", "x")
CONDITIONS = ("low < 0.8", "overall.low < 0.5", "mean > 2", "nonsense", "p_worst > 0.1", "low <")
GOALS = ("estimate", "explore", "least-certain", "find-worst", "find-best", "compare", "nonsense")
POLICIES = ("random", "stratified", "thompson", "top-two", "multi-play", "epsilon-greedy", "upper-bound", "nonsense")
ASKED = {
    "--by": BY, "--metric": METRICS, "--prior": PRIORS, "--strength": NUMBERS, "--discount": NUMBERS, "--bins": ("1", "5", "equal-mass:4", "0", "x", "100000"),
    "--m": COUNTS, "--level": ("0.5", "0.95", "0.999", *NUMBERS), "--finite-pool": None, "--seed": COUNTS, "--draws": ("1", "2", "300", "0", "-5", "x"),
    "--markdown": ("new.md",), "--html": ("new.html",),
}  # fmt: skip
COLUMNS = {
    "--predicted": ("predicted", "sex", "age", "score", "nowhere"), "--label": ("label", "sex", "age", "text", "nowhere"),
    "--score": ("score", "p1", "age", "sex"), "--positive-score": ("p1", "score", "age"), "--positive": ("a", "b", "f", "zzz"),
    "--threshold": NUMBERS, "--id": ("id", "text", "sex"), "--agreement": ("score", "p1", "age"), "--labels": ("labels.csv", "costs.csv"),
    "--scores": ("p", "p1", "x"), "--show": ("text", "nowhere"), "--propensity": ("chance", "p1", "age", "text", "nowhere"),
}  # fmt: skip
GOAL = {
    "--goal": GOALS, "--by": BY, "--metric": METRICS, "--m": COUNTS, "--groups": ("f,m", "a,b", "f", "f,f", "x,y"), "--rope": NUMBERS,
    "--confidence": NUMBERS, "--target-width": ("0.5", *NUMBERS), "--policy": POLICIES, "--prior": PRIORS, "--strength": NUMBERS, "--discount": NUMBERS,
    "--level": ("0.5", "0.95", *NUMBERS), "--seed": COUNTS,
}  # fmt: skip
VERBS: dict[str, tuple[tuple[str, ...], dict[str, Sequence[str] | None]]] = {
    "assess": (("--prior", "flat"), {**ASKED, "--cost": ("costs.csv",), "--fail-if": CONDITIONS}),
    "doctor": ((), {}),
    "compare": (("--by", "sex", "--groups", "f,m"), {**ASKED, "--groups": ("f,m", "m,f", "a,b", "f", "f,f", "9,30"), "--rope": NUMBERS}),
    "fairness": (("--by", "sex", "--positive", "a", "--method", "frequency"), {
        "--by": ("sex", "age", "sex,age", "nowhere", "predicted"), "--reference": ("f", "m", "rest", "x"), "--rope": NUMBERS,
        "--metric": ("accuracy", "tpr,fpr", "accuracy,tpr,selection-rate", "ece", "x"), "--method": ("frequency", "calibrated", "beta-binomial", "x"),
        "--level": NUMBERS, "--finite-pool": None, "--seed": COUNTS, "--fail-if": CONDITIONS,
    }),
    "surface": (("--attributes", "sex,age"), {
        "--attributes": ("sex", "age", "sex,age", "age,predicted", "text", "bins:3", "ranges:age:2,sex", "uncertain:p", "sex,sex", ""),
        "--model": ("smooth", "beta-i", "constant", "x"), "--ask": ("sex=f", "sex=f,age=9", "age=9999", "x=1", "sex"), "--level": NUMBERS,
        "--mix": ("mix.csv", "table.csv", "nowhere.csv"), "--weight": ("n", "sex", "x"), "--save": ("new.surface", "x"), "--finite-pool": None,
        "--seed": COUNTS,
    }),
    "rate": (("--grade", "human", "--judge", "judge"), {
        "--by": ("slice", "slice", "judge", "nowhere", "human"), "--judge": ("judge", "judge_b,judge", "slice", "human", "nowhere"), "--bar": ("4", "3", *NUMBERS),
        "--grade": ("human", "judge", "id", "nowhere"), "--labels": ("grades.csv", "nowhere.csv"), "--id": ("id", "slice"), "--draws": ("300", "100", "5", "x"), "--html": ("new.html",), "--markdown": ("new.md",),
        "--judge-bar": NUMBERS, "--scale": ("1-5", "0-100", "1,2,3,4,5", "a,b", "5-1", "x", ""), "--cluster": ("slice", "id", "human", "nowhere"), "--level": NUMBERS,
        "--finite-pool": None, "--seed": COUNTS, "--fail-if": CONDITIONS,
    }),
    "ask": (("--goal", "estimate", "--prior", "flat", *NEW), {
        **GOAL, "--n": COUNTS, "--votes": COUNTS, "--as": ("kim", ""), "--hide-labels": None, "--finite-pool": None, "--classes": ("c", "a", ""),
        "--cost": ("costs.csv",), "--out": ("new.csv", "new.jsonl", "new.json", "new.txt"), "--show-prediction": ("never", "x"), "--random-share": ("0.5", *NUMBERS),
    }),
    "simulate": (("--goal", "estimate", "--prior", "flat", "--runs", "2", "--budget", "4", "--jobs", "1"), {
        **GOAL, "--runs": ("1", "2", "0"), "--budget": ("1", "5", "0", "-3"), "--checkpoints": ("1", "3", "0"),
    }),
    "plan": (("--goal", "estimate", "--prior", "flat", "--target-width", "0.5", "--runs", "2", "--jobs", "1"), {
        **GOAL, "--runs": ("1", "2", "0"), "--finite-pool": None, "--hide-labels": None,
    }),
}  # fmt: skip
MODEL_OPTIONS = {
    **ASKED, "--rope": NUMBERS, "--confidence": NUMBERS, "--unpaired": None, "--fail-if": ("new - old < 0", "old.low < 0.5", *CONDITIONS), "--models": ("old,new", "x,y", "old", "x,x"),
    "--model": ("model", "sex"), "--groups": ("f,m", "old,new"),
}  # fmt: skip
MODEL_GOAL = {**GOAL, "--n": COUNTS, "--hide-labels": None, "--random-share": NUMBERS, "--votes": ("1", "2"), "--groups": ("old,new", "new,old", "f,m")}  # fmt: skip
BESIDE = ("judged.csv", "judged.parquet", "preferences.csv", "table.csv", "table.parquet", "samples_choices.jsonl", "earlier.json", "earlier_classes.json", "costs.csv", "labels.csv", "mix.csv", "grades.csv")  # fmt: skip


def choose_options(rng: Random, *, quick: bool) -> Command:
    """Choose a verb on a valid file, with a few of its options; quick ones compile nothing."""
    if rng.random() < 0.2:
        return _choose_models(rng)
    verbs = (*VERBS, "assess", "assess", "surface", "fairness", "ask", "rate")
    verb = rng.choice([verb for verb in verbs if not quick or verb not in COMPILED])
    usual, options = VERBS[verb]
    files = ("judged.csv", "judged.parquet", "preferences.csv") if verb == "rate" else ("table.csv", "table.csv", "table.parquet", "samples_choices.jsonl")  # fmt: skip
    file = rng.choice(files)
    chosen = _fill(rng, options, rng.choice((1, 1, 2, 3, 4))) | _fill(rng, COLUMNS, rng.choice((0, 0, 0, 0, 0, 1, 2)))
    start = {usual[i]: usual[i + 1] for i in range(0, len(usual), 2)}
    words = [part for name, value in (start | chosen).items() for part in ((name,) if value is None else (name, value))]
    return Command((verb, file, *words, *rng.choice((JSON, JSON, JSON, ()))), BESIDE)


def _choose_models(rng: Random) -> Command:
    """Choose how to compare several models, or to ask where they disagree."""
    two, goal = ("old.csv", "new.parquet"), rng.choice(("compare-models", "best-model", "compare-models", "find-worst"))
    files = rng.choice((two, two, two, ("wide.csv", "--models", "old,new"), ("long.csv", "--model", "model"), ("old.csv", "wide.csv"), ("old.csv", "table.csv")))  # fmt: skip
    is_asking = files == two and rng.random() < 0.3
    chosen = _fill(rng, MODEL_GOAL if is_asking else MODEL_OPTIONS, rng.choice((0, 1, 1, 2, 3)))
    chosen |= _fill(rng, COLUMNS, rng.choice((0, 0, 0, 1)))
    words = [part for name, value in chosen.items() for part in ((name,) if value is None else (name, value))]
    start = ("ask", *files, *NEW, "--goal", goal) if is_asking else ("compare", *files)
    return Command((*start, *words, *rng.choice((JSON, JSON, JSON, ()))), (*BESIDE, *MODELS))


def _fill(rng: Random, options: dict[str, Sequence[str] | None], n: int) -> dict[str, str | None]:
    names = rng.sample(list(options), min(n, len(options)))
    return {name: _pick(rng, options[name]) for name in names}


def _pick(rng: Random, values: Sequence[str] | None) -> str | None:
    """Pick a value; those that make sense stand in the first half of the list, and are picked more often."""
    if values is None:
        return None
    return rng.choice(values[: (len(values) + 1) // 2] if rng.random() < 0.85 else values)
