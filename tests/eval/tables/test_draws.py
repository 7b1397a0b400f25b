"""Several datasets, several libraries: what may be put together, what is a draw, and what stays open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eval.tables import (
    CONTROLS,
    LibraryFacts,
    SampleRow,
    Study,
    compare,
    evidence_of,
    independent,
    library_rows,
    tables_of,
    write_tables,
)
from tests.support.sample_rows import hier_row, sample_row, spend, table_of, use

PRIMARY = {"arm": "hier", "against": "flat", "budget": "usual", "world": "oracle", "domain": None, "library": None}


def hints_row(item: str, library: str, **given: Any) -> SampleRow:
    return sample_row(
        f"hints@{library}", item, system="hints", library=library, library_hash=f"hash of {library}", **given
    )


def by_video(right: dict[str, int], *, videos: int = 20) -> list[SampleRow]:
    """A question a video for ``flat``, which is never right, and for libraries, each of which is right on its first videos."""
    rows = [sample_row("flat", f"q{video}", video=f"v{video}", spend=spend(tokens=100)) for video in range(videos)]
    for library, number in right.items():
        rows += [
            hier_row(
                f"q{video}",
                library=library,
                video=f"v{video}",
                correct=video < number,
                score=float(video < number),
                spend=spend(tokens=1_000 if video < number else 100),
            )
            for video in range(videos)
        ]
    return rows


def test_the_primary_contrast_never_mixes_datasets() -> None:
    rows = []
    for dataset, right in (("easy", True), ("hard", False)):
        for video in range(4):
            place = {"video": f"v{video}", "dataset": dataset}
            rows += [sample_row("flat", f"q{video}", **place), hier_row(f"q{video}", correct=right, **place)]
    study = Study(rows=tuple(rows), primary=PRIMARY)
    table = table_of(study, "primary")
    assert table.column("dataset") == ["easy", "hard"]
    assert table.column("difference") == [1.0, 0.0]
    assert table.column("pairs") == [4, 4]
    assert table.cell(0, "p_holm").value == pytest.approx(2 * 0.125)
    assert "hier@hand_A" not in table_of(study, "comparisons").column("arm")
    named = table_of(Study(rows=tuple(rows), primary={**PRIMARY, "dataset": "hard"}), "primary")
    assert named.column("dataset") == ["hard"]


def test_where_libraries_are_draws_every_interval_crosses_them_and_no_p_value_ignores_them() -> None:
    table = table_of(Study(rows=tuple(by_video({"one": 19, "two": 1})), primary=PRIMARY), "primary")
    gain, score, tokens = (table.cell(0, key) for key in ("difference", "score_difference", "tokens_difference"))
    assert (score.low, score.high) == (gain.low, gain.high)
    assert gain.low is not None
    assert gain.low < 0
    assert tokens.low is not None
    assert tokens.low < 0
    for key in ("p_clustered", "p_mcnemar", "p_holm"):
        assert table.cell(0, key).value is None
        assert "libraries are draws" in table.cell(0, key).why
    alone = table_of(Study(rows=tuple(by_video({"one": 19})), primary=PRIMARY), "primary")
    assert alone.cell(0, "p_clustered").value is not None


def facts(name: str, *, lineage: tuple[str, ...] = (), hash_: str | None = None, **induction: str) -> LibraryFacts:
    return LibraryFacts(name=name, hash=hash_ or f"hash of {name}", lineage=lineage, induction=induction)


def test_libraries_made_from_one_another_are_one_draw() -> None:
    known = {
        "fork": facts("fork", lineage=("hash of root",)),
        "root": facts("root", log_sha256="1"),
        "selected": facts("selected", lineage=("hash of root", "hash of fork")),
        "unpruned": facts("unpruned", log_sha256="1"),
        "orphan": facts("orphan", lineage=("hash of gone",)),
        "sibling": facts("sibling", lineage=("hash of gone",)),
        "other": facts("other", log_sha256="2"),
    }
    rows = [hier_row(library=name) for name in known]
    again = hier_row(library="again", library_hash="hash of other")
    kept, left_out = independent([*rows, again, sample_row()], known)
    assert [row.library for row in kept] == ["root", "orphan", "other", None]
    assert set(left_out) == {"fork", "selected", "unpruned", "sibling", "again"}


def test_forks_do_not_make_five_libraries() -> None:
    names = ("induced", "without_a", "without_b", "again", "selected")
    rows = tuple(by_video(dict.fromkeys((*names, "second"), 10)))
    made = {name: facts(name, lineage=("hash of induced",)) for name in names[1:]} | {
        "induced": facts("induced", log_sha256="1")
    }
    study = Study(rows=rows, libraries=made, primary=PRIMARY)
    table = tables_of(study, ("draws", "variance"))[0]
    assert table.column("libraries") == [2, 2]
    assert "too few for a claim" in table.cell(0, "difference").mark
    assert table.left_out["of libraries that are made from others of the run"] == 80
    assert table_of(study, "primary").cell(0, "pairs").value == 40


def test_libraries_that_nobody_induced_make_no_claim_about_inducing() -> None:
    names = [f"hand_{number}" for number in range(5)]
    rows = tuple(by_video(dict.fromkeys(names, 10)))
    by_hand = tables_of(Study(rows=rows, libraries={name: facts(name) for name in names}), ("draws", "variance"))[0]
    assert "not induced" in by_hand.cell(0, "difference").mark
    induced = tables_of(
        Study(rows=rows, libraries={name: facts(name, log_sha256=name) for name in names}), ("draws", "variance")
    )[0]
    assert "claim" not in induced.cell(0, "difference").mark


def test_own_less_other_crosses_libraries_where_a_domain_has_several() -> None:
    def rows(right: dict[str, tuple[str, int]]) -> Study:
        found = [
            hier_row(f"q{video}", library=name, library_domain=made_for, video=f"v{video}", correct=video < number)
            for name, (made_for, number) in right.items()
            for video in range(20)
        ]
        return Study(rows=tuple(found))

    one = table_of(rows({"a": ("A_locate_count", 20), "b": ("B_order_cause", 5)}), "own_other")
    assert one.cell(0, "p_clustered").value is not None
    assert one.cell(0, "difference").value == pytest.approx(0.75)
    several = table_of(
        rows({"a": ("A_locate_count", 20), "again": ("A_locate_count", 10), "b": ("B_order_cause", 5)}), "own_other"
    )
    assert several.cell(0, "difference").value == pytest.approx(0.5)
    assert "draws" in several.cell(0, "p_clustered").why
    assert (several.cell(0, "pairs").value, several.cell(0, "difference").n) == (20, 40)
    low, alone = several.cell(0, "difference").low, one.cell(0, "difference").low
    assert low is not None
    assert alone is not None
    assert 0.5 - low > 0.75 - alone


def test_two_arms_of_one_exposure_are_two_and_a_dead_arm_pulls_no_other_down() -> None:
    rows = []
    for video in range(3):
        for library, made_for in (("hand_A", "A_locate_count"), ("hand_B", "B_order_cause")):
            place = {"library": library, "library_domain": made_for, "video": f"v{video}"}
            rows += [
                hier_row(f"q{video}", correct=library == "hand_A", **place),
                hier_row(f"q{video}", arm=f"hier-tools@{library}", outcome="failed", **place),
            ]
    table = table_of(Study(rows=tuple(rows)), "own_other")
    own = dict(zip(table.column("arm"), table.column("own_accuracy"), strict=True))
    assert own == {"hier": 1.0, "hier-tools": 0.0}


def test_a_few_videos_that_all_say_the_same_claim_nothing() -> None:
    def study(videos: int) -> Study:
        rows = []
        for video in range(videos):
            place = {"video": f"v{video}"}
            rows.append(hier_row(f"q{video}", correct=True, **place))
            rows += [sample_row(name, f"q{video}", system=name, **place) for name in CONTROLS if name != "hints"]
            rows.append(hints_row(f"q{video}", "hand_A", **place))
        return Study(rows=tuple(rows))

    few = table_of(study(2), "abstraction")
    assert (few.cell(0, "abstraction").low, few.cell(0, "p").value) == (1.0, 0.5)
    assert (few.cell(0, "claim").value, few.cell(0, "beaten").value) == (None, 0)
    assert few.cell(0, "claim").why == "fewer than 10 videos"
    enough = table_of(study(12), "abstraction")
    assert (enough.cell(0, "claim").value, enough.cell(0, "beaten").value) == (True, 4)


def test_a_tool_is_not_sure_to_help_for_two_videos() -> None:
    def enters(videos: int) -> bool:
        rows = []
        for video in range(videos):
            tools = (use("locate"),)
            rows += [
                hier_row(f"q{video}", video=f"v{video}", correct=True, tools=tools, offered=("locate",)),
                sample_row("flat", f"q{video}", video=f"v{video}"),
            ]
        study = Study(rows=tuple(rows))
        return evidence_of(study, library_rows(study, "hand_A", None), sure=True)[0].enters

    assert not enters(2)
    assert enters(12)


def against_hints(
    *, libraries: tuple[str, ...] = ("hand_A", "hand_B"), hints: tuple[str, ...] = ("hand_A", "hand_B")
) -> Study:
    rows = []
    for video in range(12):
        place = {"video": f"v{video}"}
        rows.append(sample_row("flat", f"q{video}", **place))
        rows += [hier_row(f"q{video}", library=name, correct=name == "hand_A", **place) for name in libraries]
        rows += [hints_row(f"q{video}", name, correct=name == "hand_B", **place) for name in hints]
    return Study(rows=tuple(rows), primary={**PRIMARY, "against": "hints"})


def test_arms_that_both_have_libraries_are_paired_library_by_library() -> None:
    study = against_hints()
    table = table_of(study, "primary")
    assert (table.cell(0, "pairs").value, table.cell(0, "unpaired").value) == (24, 0)
    assert (table.cell(0, "difference").value, table.cell(0, "only_arm").value) == (0.0, 12)
    named = table_of(Study(rows=study.rows, primary={**study.primary, "library": "hand_A"}), "primary")
    assert (named.cell(0, "difference").value, named.cell(0, "unpaired").value) == (1.0, 0)


def test_one_table_that_cannot_be_made_ends_no_other(tmp_path: Path) -> None:
    study = against_hints(libraries=("hand_C",))
    tables = {table.name: table for table in tables_of(study)}
    whole = [table.name for table in tables_of(Study(rows=study.rows))]
    assert list(tables) == whole
    assert "ambiguous" not in tables["main"].note
    assert not tables["primary"].rows
    assert tables["primary"].note.startswith("It cannot be made: two samples")
    assert len(tables["comparisons"].rows) == 3
    assert len(write_tables(tables.values(), tmp_path)) == 2 * len(tables)


def test_samples_without_a_partner_are_counted_where_they_lie() -> None:
    rows = []
    for world in ("oracle", "classical"):
        for video in range(3):
            place = {"video": f"v{video}", "world": world, "domain": "A" if video else "B"}
            rows.append(sample_row("a", f"q{video}", system="a", **place))
            if (world, video) != ("oracle", 2):
                rows.append(sample_row("b", f"q{video}", system="b", **place))
    whole, parts = compare(Study(rows=tuple(rows)), "a", "b").tables
    assert dict(zip(whole.column("world"), whole.column("unpaired"), strict=True)) == {"oracle": 1, "classical": 0}
    places = zip(parts.column("world"), parts.column("domain"), parts.column("unpaired"), strict=True)
    assert {place[:2]: place[2] for place in places} == {
        ("oracle", "A"): 1, ("oracle", "B"): 0, ("classical", "A"): 0, ("classical", "B"): 0
    }  # fmt: skip
    across = compare(Study(rows=tuple(rows)), "a@world=oracle", "b@world=classical", ()).tables[0]
    assert (across.column("world"), across.column("unpaired")) == (["oracle"], [0])
