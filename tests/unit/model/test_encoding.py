"""Bytes of unknown encoding."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.model.encoding import Recoder, UnknownEncodingError, as_utf8, look

TEXTS = st.text(st.characters(exclude_categories=["Cs"])).filter(lambda text: not text.startswith("\ufeff"))


@given(TEXTS, st.sampled_from(["utf-8-sig", "utf-16", "utf-32"]), st.lists(st.integers(0, 40)))
def test_a_mark_decides_whole_and_in_blocks(text, encoding, cuts):
    data = text.encode(encoding)
    assert as_utf8(data) == text.encode()
    recoder = Recoder()
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    blocks = [data[start:end] for start, end in pairwise(places)]
    assert b"".join(map(recoder.feed, blocks)) == text.encode()


@given(st.binary().filter(lambda data: data[:1] not in (b"\xef", b"\xfe", b"\xff", b"\0", b"<")))
def test_what_has_no_mark_stays_as_it_is(data):
    assert as_utf8(data) == data
    assert Recoder().feed(data) == data


def test_what_cannot_be_decoded_is_told():
    with pytest.raises(ValueError, match="line 2 is not valid ascii"):
        as_utf8(b'<?xml version="1.0" encoding="ascii"?>\n\xe9')
    assert look(b'<?xml version="1.0" encoding="klingon"?>') == "rdfxml"


@pytest.mark.parametrize("encoding", ["idna", "undefined", "rot13", "punycode", "klingon"])
def test_encodings_that_are_none_for_documents_are_told(encoding):
    with pytest.raises(UnknownEncodingError):
        as_utf8(f'<?xml version="1.0" encoding="{encoding}"?><a>\xff..</a>'.encode("latin-1"))


def test_halves_of_characters_are_replaced():
    assert as_utf8(b'<?xml version="1.0" encoding="utf-7"?><a>+2AA-</a>').endswith(b"<a>?</a>")
