"""Universities: data in the shape of LUBM (Guo, Pan, Heflin 2005), by a generator of our own.

A department has professors who teach, publish and advise, students who take courses, and research groups; people have
names, addresses and degrees. Each department depends on the seed and its number alone, so that more departments are
more of the same. The ontology that ships here, `university.ttl`, is small and uses the names of LUBM's, so LUBM's own
can take its place.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, count, islice
from pathlib import Path
from random import Random
from typing import Final

from thalweg.connectors.ontology_documents import read_triples
from thalweg.model.term import quote
from thalweg.model.vocabulary import TYPE, Triple

NAMESPACE: Final = "http://example.org/university#"
PER_UNIVERSITY: Final = 15
_UNIVERSITIES: Final = 1_000
_INTERESTS: Final = 30


def ontology() -> list[Triple]:
    """The ontology that ships here.

    >>> any(predicate.endswith("someValuesFrom>") for _, predicate, _ in ontology())
    True
    """
    return read_triples(Path(__file__).with_name("university.ttl"))


def namespace_of(schema: Iterable[Triple]) -> str:
    """The namespace of an ontology of universities.

    >>> namespace_of(ontology()) == NAMESPACE
    True
    """
    place = next(subject for subject, _, _ in schema if subject.endswith("#subOrganizationOf>"))
    return place[1 : place.index("#") + 1]


def data(triples: int, seed: int = 0, namespace: str = NAMESPACE) -> list[Triple]:
    """As many triples as asked for, in whole departments but for the last one.

    >>> len(data(10_000))
    10000
    """
    generated = chain.from_iterable(department(number, seed, namespace) for number in range(triples // 1_000 + 1))
    return list(islice(dict.fromkeys(generated), triples))


def mingled() -> Iterator[Triple]:
    """Triples without end, department after department, the things in each of them in random order.

    StreamRule's own data has this order: all triples about a professor or a student come together, and the order of
    persons is random. So any part of a department has some of everything.

    >>> list(islice(mingled(), 1_000)) == list(islice(mingled(), 1_000)), next(mingled()) == data(1)[0]
    (True, False)
    """
    for number in count():
        about: dict[str, list[Triple]] = {}
        for triple in dict.fromkeys(department(number)):
            about.setdefault(triple[0], []).append(triple)
        yield from chain.from_iterable(Random(f"0/{number}").sample(list(about.values()), len(about)))


def department(number: int, seed: int = 0, namespace: str = NAMESPACE) -> Iterator[Triple]:
    """The triples of one department, some 7,000.

    >>> next(department(16))[0]
    '<http://www.University1.example/>'
    """
    return _Department(number, Random(f"{seed}/{number}"), namespace).triples()


class _Department:
    """A department in the making."""

    def __init__(self, number: int, random: Random, namespace: str) -> None:
        home = number // PER_UNIVERSITY
        self._random = random
        self._namespace = namespace
        self._place = f"http://www.Department{number % PER_UNIVERSITY}.University{home}.example/"
        self._self, self._home = f"<{self._place}>", _university(home)

    def triples(self) -> Iterator[Triple]:
        yield self._is(self._home, "University")
        yield self._is(self._self, "Department")
        yield self._self, self._word("subOrganizationOf"), self._home
        groups = [self._called(f"ResearchGroup{number}") for number in range(self._random.randint(10, 20))]
        for group in groups:
            yield self._is(group, "ResearchGroup")
            yield group, self._word("subOrganizationOf"), self._self
        faculty = [
            (kind, f"{kind}{number}")
            for kind, least, most in _FACULTY
            for number in range(self._random.randint(least, most))
        ]
        courses = {"Course": list[str](), "GraduateCourse": list[str]()}
        for kind, name in faculty:
            yield from self._teacher(kind, name, courses)
        yield self._called("FullProfessor0"), self._word("headOf"), self._self
        professors = [name for kind, name in faculty if kind != "Lecturer"]
        for number in range(len(faculty) * self._random.randint(8, 14)):
            yield from self._undergraduate(f"UndergraduateStudent{number}", courses["Course"], professors)
        graduates = [f"GraduateStudent{number}" for number in range(len(faculty) * self._random.randint(3, 4))]
        for name in graduates:
            yield from self._graduate(name, courses, professors, groups)
        for name in professors:
            yield from self._publications(name, graduates)

    def _teacher(self, kind: str, name: str, courses: dict[str, list[str]]) -> Iterator[Triple]:
        person = self._called(name)
        yield self._is(person, kind)
        yield from self._person(name, ("undergraduate", "masters", "doctoral"))
        yield person, self._word("worksFor"), self._self
        yield person, self._word("researchInterest"), quote(f"Research{self._random.randrange(_INTERESTS)}")
        for level, taught in courses.items():
            for _ in range(self._random.randint(1, 2)):
                taught.append(self._called(f"{level}{len(taught)}"))
                yield self._is(taught[-1], level)
                yield taught[-1], self._word("name"), quote(f"{level}{len(taught) - 1}")
                yield person, self._word("teacherOf"), taught[-1]

    def _undergraduate(self, name: str, courses: list[str], professors: list[str]) -> Iterator[Triple]:
        student = self._called(name)
        yield self._is(student, "UndergraduateStudent")
        yield from self._person(name, ())
        yield student, self._word("memberOf"), self._self
        yield from self._takes(student, courses, self._random.randint(2, 4))
        if self._random.random() < 0.2:
            yield student, self._word("advisor"), self._called(self._random.choice(professors))

    def _graduate(
        self, name: str, courses: dict[str, list[str]], professors: list[str], groups: list[str]
    ) -> Iterator[Triple]:
        student = self._called(name)
        yield self._is(student, "GraduateStudent")
        yield from self._person(name, ("undergraduate",))
        yield student, self._word("memberOf"), self._self
        yield student, self._word("advisor"), self._called(self._random.choice(professors))
        yield from self._takes(student, courses["GraduateCourse"], self._random.randint(1, 3))
        match self._random.randrange(4):
            case 0:
                yield self._is(student, "TeachingAssistant")
                yield student, self._word("teachingAssistantOf"), self._random.choice(courses["Course"])
            case 1:
                yield self._is(student, "ResearchAssistant")
                yield student, self._word("worksFor"), self._random.choice(groups)

    def _takes(self, student: str, courses: list[str], number: int) -> Iterator[Triple]:
        for course in self._random.sample(courses, min(number, len(courses))):
            yield student, self._word("takesCourse"), course

    def _publications(self, name: str, graduates: list[str]) -> Iterator[Triple]:
        for number in range(self._random.randint(5, 18)):
            publication = self._called(f"{name}/Publication{number}")
            yield self._is(publication, "Publication")
            yield publication, self._word("name"), quote(f"Publication{number}")
            authors = [name, *self._random.sample(graduates, self._random.randrange(3))]
            for author in authors:
                yield publication, self._word("publicationAuthor"), self._called(author)

    def _person(self, name: str, degrees: Iterable[str]) -> Iterator[Triple]:
        person = self._called(name)
        yield person, self._word("name"), quote(name)
        yield person, self._word("emailAddress"), quote(f"{name}@{self._place[11:-1]}")
        yield person, self._word("telephone"), quote("xxx-xxx-xxxx")
        for degree in degrees:
            yield person, self._word(f"{degree}DegreeFrom"), _university(self._random.randrange(_UNIVERSITIES))

    def _called(self, name: str) -> str:
        return f"<{self._place}{name}>"

    def _word(self, name: str) -> str:
        return f"<{self._namespace}{name}>"

    def _is(self, subject: str, kind: str) -> Triple:
        return subject, TYPE, self._word(kind)


_FACULTY: Final = (
    ("FullProfessor", 7, 10),
    ("AssociateProfessor", 10, 14),
    ("AssistantProfessor", 8, 11),
    ("Lecturer", 5, 7),
)


def _university(number: int) -> str:
    return f"<http://www.University{number}.example/>"
