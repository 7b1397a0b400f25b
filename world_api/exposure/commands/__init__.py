"""The sub-commands of ``videoworld`` that belong to the world: each module has one Typer app named ``app``."""
