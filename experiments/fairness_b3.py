"""Table B.3 of the dissertation: error of the gap in FPR."""

from experiments.options import start
from experiments.published_fairness import LABELLED, TABLE_B3
from experiments.studies import Study

make = Study(
    "Table B.3: error of the gap in FPR",
    "fpr",
    {name: name for name in LABELLED},
    TABLE_B3,
).make

if __name__ == "__main__":
    start("fairness_b3", make)
