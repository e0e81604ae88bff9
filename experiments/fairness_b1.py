"""Table B.1 of the dissertation, and 2 of the fairness paper: error of the gap in accuracy."""

from experiments.options import start
from experiments.published_fairness import LABELLED, TABLE_B1
from experiments.studies import Study

make = Study(
    "Table B.1: error of the gap in accuracy; its rows with ten labels are Table 2 of the fairness paper",
    "accuracy",
    {name: name for name in LABELLED},
    TABLE_B1,
).make

if __name__ == "__main__":
    start("fairness_b1", make)
