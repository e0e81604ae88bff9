CLOCKS = {}
