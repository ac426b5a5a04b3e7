"""Time and memory by size, from 10^5 to 2.5*10^7 entries and from 10 to 10^4 runs.

``python -m benchmarks.scale -o reports/scale.md`` measures each size in a process of its own; see
``docs/scale.md``.
"""
