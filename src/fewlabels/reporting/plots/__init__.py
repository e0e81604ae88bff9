"""Plots of results: a result in, matplotlib Axes out; only the layout is computed here.

Each kind of plot has its own file; `.plot()` calls `plot_assessment`, `plot_comparison` or `plot_surface`. Figures are
made without pyplot, so there is no global state; reports embed the output of `render_svg`.
"""
