"""Table B.2 of the dissertation, and 3 of the fairness paper: error of the gap in TPR."""

from experiments.options import start
from experiments.published_fairness import LABELLED, TABLE_B2
from experiments.studies import Study

make = Study(
    "Table B.2: error of the gap in TPR; its rows with 200 labels are Table 3 of the fairness paper",
    "tpr",
    {name: name for name in LABELLED},
    TABLE_B2,
).make

if __name__ == "__main__":
    start("fairness_b2", make)
