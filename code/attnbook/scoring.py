"""The command ``python -m attnbook.scoring``; it stands in ``attnbook.evaluation``."""

from attnbook.evaluation import main

if __name__ == "__main__":
    main()
