"""`python -m apiext` is the `apiext` command."""

from apiext.cli.main import main

if __name__ == "__main__":
    main()
