"""The command ``python -m attnbook.train``; it stands in ``attnbook.training.__main__``."""

from attnbook.training.__main__ import main

if __name__ == "__main__":
    main()
