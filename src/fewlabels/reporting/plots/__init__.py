"""Pictures of what `summary` made: numbers in, matplotlib Axes out, nothing computed on the way but layout.

Each picture has its own file; `plot_assessment`, `plot_comparison` and `plot_surface` are what `.plot()` calls. Figures are made
without pyplot, so there is no global state; `render_svg` is what the report embeds.
"""
