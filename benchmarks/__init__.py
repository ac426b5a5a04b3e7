"""Benchmarks that asv runs for every commit: a thin adapter over pfbench, without own logic.

``counts.py`` has exact oracle counts (``track_*``): any change is a change of behaviour, so compare
them with ``asv compare -f 1``. ``times.py`` has times (``time_*``). CONTRIBUTING.md says how to run
them.

asv imports every module here and in every folder below that has an ``__init__.py``; a folder that
it must not import has none. To asv lower is better, and a ``track_*`` value is a finite number:
return the censored value of a run that misses its target, and track the misses beside it. Raise
the ``version`` of a benchmark when what it measures changes, and only then.
"""
