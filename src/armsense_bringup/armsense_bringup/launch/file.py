"""XML launch files as a tree of elements that know their file and line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from armsense.errors import ArmsenseError


class LaunchError(ArmsenseError):
    """A launch file, or the arguments given to it, cannot be carried out."""


@dataclass(frozen=True)
class Element:
    """One tag of a launch file."""

    tag: str
    attributes: dict[str, str]
    path: Path
    line: int
    children: list[Element] = field(default_factory=list)

    def error(self, message: object) -> LaunchError:
        """The error to raise about this element, with file and line in front."""
        return LaunchError(f'{self.path}:{self.line}: {message}')

    def walk(self) -> Iterator[Element]:
        """This element and everything below it, in the order of the file."""
        yield self
        for child in self.children:
            yield from child.walk()


def read(path: str | Path) -> Element:
    """The root element of an XML file; its grammar is the business of `schema`.

    Raises:
        LaunchError: The file is missing or is no well-formed XML.
    """
    path = Path(path).absolute()
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LaunchError(f'{path}: {error.strerror}') from error
    return _Reader(path).parse(data)


class _Reader:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._open: list[Element] = []
        self._root: Element | None = None
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text

    def parse(self, data: bytes) -> Element:
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise LaunchError(f'{self._path}:{error.lineno}: not XML: {reason}') from error
        assert self._root is not None  # expat refuses a document without an element
        return self._root

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, self._path, self._parser.CurrentLineNumber)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self._root = element
        self._open.append(element)

    def _end(self, _tag: str) -> None:
        self._open.pop()

    def _text(self, text: str) -> None:
        if text.strip():
            line = self._parser.CurrentLineNumber
            raise LaunchError(
                f'{self._path}:{line}: text {text.strip()!r} inside <{self._open[-1].tag}>; '
                'a launch file has tags and attributes only')
