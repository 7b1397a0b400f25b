import subprocess
import sys

import tool_induction


def test_every_public_name_is_there() -> None:
    for name in tool_induction.__all__:
        assert getattr(tool_induction, name) is not None


HEAVY = ("jinja2", "jsonschema", "pydantic", "world_api.operations", "numpy")


def loaded_by(statement: str) -> set[str]:
    """The heavy modules that are loaded after a statement in a fresh interpreter."""
    code = f"{statement}; import sys; print(*(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded_by("import tool_induction") == set()
    assert "jinja2" not in loaded_by("import tool_induction.commands")
