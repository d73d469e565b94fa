"""A generation answers what `thalweg run` answers over the same text, also from a copy of its folder on."""

from pathlib import Path

import pytest

from services import KINDS, before, body, copied, expected, posted, serving, settled, texts


@pytest.mark.parametrize("kind", KINDS)
def test_a_program_of_each_kind_has_the_lines_of_a_run(kind: str, tmp_path: Path) -> None:
    sources, documents = KINDS[kind]["sources"], texts(20)
    with serving(tmp_path / "data") as service:
        program, is_new = service.programs.put("p", body(sources))
        answered = settled(program, posted(service, *documents))
    assert is_new
    wanted = expected(sources, documents)
    assert len(before(wanted, 20)) > 5
    assert answered == wanted[: len(answered)]
    assert before(answered, 20) == before(wanted, 20)


@pytest.mark.parametrize("kind", KINDS)
def test_a_program_goes_on_from_a_copy_of_the_folder(kind: str, tmp_path: Path) -> None:
    sources, documents = KINDS[kind]["sources"], texts(20)
    with serving(tmp_path / "data") as service:
        program, _ = service.programs.put("p", body(sources))
        copies = []
        for number, document in enumerate(documents):
            seq = posted(service, document)
            if number % 2:
                settled(program, seq)
            # What a crash leaves: files in the middle of everything.
            copies.append((number, copied(tmp_path / "data", tmp_path / f"copy{number}")))
        answered = settled(program, seq)
    for number, copy in copies[:: max(1, len(copies) // 4)]:
        with serving(copy) as service:
            rest = documents[number + 1 :]
            seq = posted(service, *rest) if rest else service.log.last
            assert settled(service.programs.get("p"), seq) == answered
