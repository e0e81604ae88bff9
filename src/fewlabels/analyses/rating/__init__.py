"""How good outputs are by people's standard, from few grades of people and many of judges.

`api` is the public call, `estimates` turns draws into numbers, `judges` measures judges against people, `result` holds
what people see.
"""
