"""``python -m videoworld`` is the command ``videoworld``."""

from videoworld.command import main

if __name__ == "__main__":
    main()
