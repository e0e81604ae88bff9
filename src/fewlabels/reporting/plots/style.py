"""The style of all plots: a colour-blind safe palette (Okabe and Ito), and sizes."""

BLUE, ORANGE, GREY, PALE = "#0072B2", "#D55E00", "#737373", "#E4E4E4"
INK = "#222222"
SMALL = 9  # points: the smallest font size
MAX_ROWS = 40  # groups in one plot
