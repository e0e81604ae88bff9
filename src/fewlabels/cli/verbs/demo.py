"""`fewlabels demo`: a complete assessment on built-in data."""

from fewlabels.cli.console import escape, print_warnings, spinner, stdout_console
from fewlabels.cli.demo import run_demo
from fewlabels.cli.tables import print_assessment


def demo(*, out: str = "fewlabels-demo") -> int:
    """Train a small model on 100 digits, assess it on the others with few labels, and write a report.

    Parameters
    ----------
    out: str
        Folder for the report and the predictions.
    """
    with spinner("training and assessing"):
        result = run_demo(out)
    screen = stdout_console()
    screen.print(result.summary, markup=False, soft_wrap=True)
    print_assessment(screen, result.assessment)
    print_warnings(screen, result.assessment.warnings)
    screen.print(f"report: [bold]{escape(str(result.report))}[/]", soft_wrap=True)
    screen.print(f"next: fewlabels doctor {escape(str(result.predictions))}", soft_wrap=True)
    return 0
