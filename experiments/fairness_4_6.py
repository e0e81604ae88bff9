"""Table 4.6 of the dissertation: groups under a hierarchy, or each on its own."""

from experiments.options import start
from experiments.published_fairness import TABLE_4_6
from experiments.studies import Study

make = Study(
    "Table 4.6: error of the gap in accuracy, groups calibrated each on its own (NHBC) or under a hierarchy (BC)",
    "accuracy",
    {"beta-binomial": "beta-binomial", "bc-apart": "nhbc", "bc": "bc"},
    TABLE_4_6,
).make

if __name__ == "__main__":
    start("fairness_4_6", make)
