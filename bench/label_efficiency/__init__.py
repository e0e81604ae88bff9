"""What do labels buy with each prior? Every pool with scores, every question, every prior, on the same draws.

Run it from the project's folder: python -m bench.label_efficiency --runs 100 --out bench/label_efficiency
"""
