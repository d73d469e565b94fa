"""Entities that namespaces use go through; floods of them are refused before anything is expanded."""

import pytest

from thalweg.model.entities import (
    MOST_FOR_ALL,
    MOST_FOR_ONE,
    ExpansionError,
    check_entities,
    expand_entities,
)


def document(declarations: str, content: str = "") -> str:
    return f"<!DOCTYPE a [{declarations}]>\n<a>{content}</a>"


def laughs(levels: int, times: int = 10, first: str = "lol") -> str:
    """`levels` entities, each of them `times` the one before."""
    nested = (f'<!ENTITY a{n} "{f"&a{n - 1};" * times}">' for n in range(1, levels + 1))
    return document(f'<!ENTITY a0 "{first}">' + "\n".join(nested), f"&a{levels};")


NAMESPACES = '<!ENTITY owl "http://www.w3.org/2002/07/owl#"><!ENTITY ex "http://example.org/">'


@pytest.mark.parametrize("content", ["", "&owl;Class &ex;a &lt; &#65; &unknown;", "&owl;Class" * 10_000])
def test_namespaces_are_allowed(content: str) -> None:
    check_entities(document(NAMESPACES, content))


def test_nested_entities_are_allowed_while_they_are_small() -> None:
    check_entities(laughs(3))


@pytest.mark.parametrize("levels", [6, 9, 200])
def test_a_flood_is_refused_where_it_passes_the_limit(levels: int) -> None:
    with pytest.raises(ExpansionError, match="`a6` expands to more than") as error:
        check_entities(laughs(levels))
    assert laughs(levels)[error.value.offset :].startswith("<!ENTITY a6")


def test_a_name_that_is_declared_again_and_again_is_a_flood_too() -> None:
    doubled = '<!ENTITY x "&x;&x;">' * 40
    with pytest.raises(ExpansionError, match="`x` expands to more than"):
        check_entities(document(f'<!ENTITY x "ab">{doubled}'))


def test_one_large_entity_may_not_be_used_often() -> None:
    declared = f'<!ENTITY x "{"a" * 100_000}">'
    check_entities(document(declared, "&x;" * 10))
    with pytest.raises(ExpansionError, match="most of them from `&x;`"):
        check_entities(document(declared, "&x;" * 100_000))


def test_a_flood_behind_what_may_look_like_the_end_of_the_dtd() -> None:
    for before in ('<!ENTITY q "]>">', "<!-- ]> -->", '<?pi "]>?>', "]><!DOCTYPE b ["):
        with pytest.raises(ExpansionError, match="`a6`"):
            check_entities(laughs(7).replace("<!ENTITY a0", f"{before}<!ENTITY a0", 1))


@pytest.mark.parametrize(
    "declaration",
    [
        '<!ENTITYx "a">',
        '<!ENTITY\u00a0x "a">',
        '<!ENTITY %x "a">',
        '<!ENTITY x\x0b "a">',
        "<!ENTITY x a>",
        "<!entity x 'a'>",
    ],
)
def test_other_forms_of_declarations_are_refused(declaration: str) -> None:
    with pytest.raises(ExpansionError, match="unsupported entity declaration"):
        check_entities(document(declaration))


@pytest.mark.parametrize("where", ['SYSTEM "file:///etc/passwd"', 'PUBLIC "a" "http://example.org/a"'])
def test_external_entities_are_refused(where: str) -> None:
    for declaration in (f"<!ENTITY x {where}>", f"<!ENTITY % x {where}>"):
        with pytest.raises(ExpansionError, match="`x` is external"):
            check_entities(document(declaration))


def test_a_document_without_a_dtd_may_mention_entities() -> None:
    check_entities("<a><![CDATA[ <!ENTITY x SYSTEM 'y'> ]]></a>")


def test_references_are_replaced_in_the_order_of_declarations() -> None:
    text = document('<!ENTITY x "1"><!ENTITY y "&x;2"><!ENTITY z "&later;">', "&y;&z;&amp;")
    assert expand_entities(text).endswith("<a>12&later;&amp;</a>")
    assert expand_entities("<a>&x;</a>") == "<a>&x;</a>"


def test_the_limits_are_those_of_the_documentation() -> None:
    assert MOST_FOR_ONE == MOST_FOR_ALL == 1_048_576
