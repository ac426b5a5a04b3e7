"""The plugin that users get with pfbench, also where it is not installed."""

pytest_plugins = ["pfbench.verification.pytest_plugin"]
