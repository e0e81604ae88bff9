"""Table 4.5 of the dissertation: beta calibration beside linear in log odds."""

from experiments.options import start
from experiments.published_fairness import TABLE_4_5
from experiments.studies import Study

make = Study(
    "Table 4.5: error of the gap in accuracy, by beta calibration (BC) and linear in log odds (LLO: a = b)",
    "accuracy",
    {"bc": "bc", "bc-llo": "llo"},
    TABLE_4_5,
).make

if __name__ == "__main__":
    start("fairness_4_5", make)
