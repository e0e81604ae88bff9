"""What the paper prints (002), table by table: the numbers ours stand beside.

Columns are always UPrior, IPrior, IPrior+TS; rows are keyed by the dataset's name there.
"""

Row = tuple[float, ...]

# RMSE of classwise accuracy in points, by labels per class
TABLE_3: dict[tuple[str, int], Row] = {
    ("CIFAR-100", 2): (30.7, 15.0, 15.3),
    ("CIFAR-100", 5): (20.5, 13.6, 13.8),
    ("CIFAR-100", 10): (13.3, 10.9, 11.4),
    ("ImageNet", 2): (29.4, 13.2, 13.2),
    ("ImageNet", 5): (18.8, 12.1, 11.6),
    ("ImageNet", 10): (11.8, 9.5, 9.4),
    ("20 News", 2): (23.9, 12.3, 11.7),
    ("20 News", 5): (15.3, 10.8, 10.3),
    ("20 News", 10): (10.4, 8.7, 8.8),
}

# "scaled RMSE" of the confusion matrix, by labels per class; an artefact, see README.md
TABLE_4: dict[tuple[str, int], Row] = {
    ("CIFAR-100", 2): (1.463, 0.077, 0.025),
    ("CIFAR-100", 5): (0.071, 0.012, 0.004),
    ("CIFAR-100", 10): (0.001, 0.002, 0.001),
    ("20 News", 2): (3.405, 0.018, 0.005),
    ("20 News", 5): (0.188, 0.004, 0.001),
    ("20 News", 10): (0.011, 0.001, 0.000),
}

# mean error of ECE in percent of the true one, by labels
TABLE_5: dict[tuple[str, int], Row] = {
    ("CIFAR-100", 20): (76.7, 26.4, 28.7),
    ("CIFAR-100", 50): (40.5, 23.4, 26.7),
    ("CIFAR-100", 100): (25.7, 21.5, 23.2),
    ("ImageNet", 20): (198.7, 51.8, 36.4),
    ("ImageNet", 50): (122.0, 55.3, 29.6),
    ("ImageNet", 100): (66.0, 40.8, 22.1),
    ("20 News", 20): (54.0, 39.7, 46.1),
    ("20 News", 50): (32.8, 28.9, 36.6),
    ("20 News", 100): (24.7, 22.3, 28.7),
}

# percent of the pool to find the m least accurate predicted classes
TABLE_6: dict[tuple[str, int], Row] = {
    ("CIFAR-100", 1): (81.1, 83.4, 24.9),
    ("CIFAR-100", 10): (99.8, 99.8, 55.1),
    ("ImageNet", 1): (96.9, 94.7, 9.3),
    ("ImageNet", 10): (99.6, 98.5, 17.1),
    ("20 News", 1): (53.9, 55.4, 16.9),
    ("20 News", 3): (92.0, 92.5, 42.5),
}

# labels to compare two predicted groups
TABLE_7: dict[str, Row] = {
    "CIFAR-100, Superclass": (203.5, 129.0, 121.9),
    "20 News": (197.3, 157.4, 136.1),
}

# RMSE of the accuracy of ten score bins in points, by labels
TABLE_8: dict[tuple[str, int], Row] = {
    ("CIFAR-100", 20): (23.2, 12.8, 11.9),
    ("CIFAR-100", 50): (15.7, 11.3, 10.0),
    ("CIFAR-100", 100): (11.0, 9.3, 8.1),
    ("ImageNet", 20): (23.0, 11.5, 10.6),
    ("ImageNet", 50): (16.0, 10.6, 9.0),
    ("ImageNet", 100): (11.1, 8.8, 7.1),
    ("20 News", 20): (19.6, 11.5, 9.0),
    ("20 News", 50): (12.4, 9.6, 7.7),
    ("20 News", 100): (8.9, 7.6, 6.4),
}

# percent of the pool to find the m least calibrated predicted classes: IPrior, IPrior+TS
TABLE_9: dict[tuple[str, int], Row] = {
    ("CIFAR-100", 1): (88.0, 43.0),
    ("CIFAR-100", 10): (90.0, 59.0),
    ("ImageNet", 1): (89.6, 31.0),
    ("ImageNet", 10): (90.0, 41.2),
    ("20 News", 1): (69.0, 27.9),
    ("20 News", 3): (90.3, 50.5),
}

# thousands of labels to find the m most costly predicted classes of CIFAR-100, by (factor, m)
TABLE_10: dict[tuple[int, int], Row] = {
    (1, 1): (9.6, 9.4, 5.0),
    (1, 10): (10.0, 10.0, 9.4),
    (2, 1): (9.3, 9.3, 4.4),
    (2, 10): (9.8, 10.0, 8.4),
    (5, 1): (9.5, 9.7, 4.5),
    (5, 10): (9.6, 10.0, 7.9),
    (10, 1): (9.3, 9.1, 2.2),
    (10, 10): (9.6, 9.7, 7.4),
}
TABLE_11: dict[tuple[int, int], Row] = {
    (1, 1): (9.9, 10.0, 2.2),
    (1, 10): (9.8, 9.9, 5.9),
    (2, 1): (10.0, 10.0, 2.2),
    (2, 10): (9.9, 9.9, 5.2),
    (5, 1): (9.9, 10.0, 1.8),
    (5, 10): (9.9, 9.9, 5.3),
    (10, 1): (10.0, 9.8, 1.4),
    (10, 10): (9.9, 9.9, 4.0),
}
