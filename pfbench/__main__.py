"""``python -m pfbench`` is the command ``pfbench``."""

from pfbench.cli.main import main

if __name__ == "__main__":
    main()
