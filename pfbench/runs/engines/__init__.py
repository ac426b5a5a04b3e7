"""Engines that execute runs: this process, killable worker processes, or a Dask cluster."""
