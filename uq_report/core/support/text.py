"""Text from outside (feature names, labels, categories) made fit for pages, figures and logs.

Every such string passes `clean` once, at the door of a report or figure. Nothing is dropped in
silence that a reader could mistake for something else: direction controls and characters that the
report's font lacks are shown as their code point.
"""

import hashlib
import re
import unicodedata
from urllib.parse import unquote, unquote_plus

MAX_TEXT = 2000
MAX_NAME = 40
MAX_STEM = 80

_DROPPED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff\ufeff]")
_INVISIBLE = re.compile("[\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufff0-\ufffb]")
_UNSAFE = re.compile("[^A-Za-z0-9_.-]")
_SPACES = re.compile(r"\s+")
# An address of which no part can be a password but what stands before its one @ and behind its ? or #.
_ADDRESS = re.compile(
    r"(?P<scheme>[\w+.-]{2,}://)(?:[^@/?#]*@)?"
    r"(?P<place>(?:[\w.-]*|\[[\da-fA-F:.]+\])(?::\d*)?(?:/(?:[A-Za-z]:/)?[^@?#:;]*)?)(?:[?#][^@]*)?"
)
_STORED = re.compile(r"[\w.]{2,}:(?:/(?!/)[^:=?\s]*|\w+)")  # models:/credit@champion, module:factory


def clean(value: object, limit: int = MAX_TEXT) -> str:
    r"""Return outside text as one safe line of at most `limit` characters.

    Control characters go, white space becomes single blanks, direction and other invisible controls
    and lone surrogates are shown as ``[U+202E]``, the text is composed (NFC), and a cut is marked.

    Examples
    --------
    >>> clean("age\x1b[31m\n(years)")
    'age[31m (years)'
    >>> clean("a\u202eb")
    'a[U+202E]b'
    """
    text = unicodedata.normalize("NFC", str(value)[: 4 * limit])
    text = _SPACES.sub(" ", _DROPPED.sub("", text.replace("\u2028", "\n").replace("\u2029", "\n"))).strip()
    text = _INVISIBLE.sub(lambda match: code_point(match[0]), text)
    return text if len(text) <= limit else text[: limit - 1] + "\u2026"


def harmless(text: str) -> str:
    r"""Return text of several lines as it is, but for what a terminal would act on: controls go or are shown.

    Examples
    --------
    >>> harmless("age\x1b[31m  12\nb\u202ec")
    'age[31m  12\nb[U+202E]c'
    """
    lines = (_INVISIBLE.sub(lambda match: code_point(match[0]), _DROPPED.sub("", line)) for line in text.split("\n"))
    return "\n".join(lines)


def masked(source: str) -> str:
    """Return a source without user, password and parameters; an address that may hide one elsewhere is not shown.

    Examples
    --------
    >>> masked("postgresql://me:secret@db:5432/x?sslpassword=abc"), masked("postgresql://me:sec@ret@db/x")
    ('postgresql://db:5432/x', 'postgresql:***')
    >>> masked("rows.csv"), masked("models:/credit/3")
    ('rows.csv', 'models:/credit/3')
    """
    scheme, colon, _ = source.partition(":")
    if not colon or len(scheme) == 1 or _STORED.fullmatch(source):  # a file, C:/rows.csv too
        return source
    if address := _ADDRESS.fullmatch(source):
        return address["scheme"] + address["place"]
    return f"{scheme}:***" if re.fullmatch(r"[\w+.-]+", scheme) else "***"


def without_secrets(text: str, source: str) -> str:
    """Return what a library says of an address without its password and parameters; a hint if that cannot be told.

    Examples
    --------
    >>> without_secrets("no password s3@t", "postgresql://me:s3%40t@db/x")
    'no password ***'
    """
    if masked(source).endswith("***"):
        return "the address is not clear; write @ as %40, / as %2F, ? as %3F and : as %3A in user and password"
    secrets = re.findall(r"://[^:/@]*:([^@]*)@", source) + re.findall(r"[?&][^=&]*=([^&]*)", source)
    decoded = [decode(secret) for secret in secrets for decode in (unquote, unquote_plus)]
    parts = [part.partition("=")[2].strip("{} ") for secret in decoded for part in secret.split(";")]  # of ODBC
    for secret in sorted({*secrets, *decoded, *parts} - {""}, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def short(value: object, limit: int = MAX_NAME) -> str:
    """Return a name cleaned and shortened in its middle, where long names differ least.

    Examples
    --------
    >>> short("average_balance_of_the_last_twelve_months_eur", 20)
    'average_ba\u2026onths_eur'
    """
    text = clean(value)
    if len(text) <= limit:
        return text
    head = limit // 2
    return f"{text[:head]}\u2026{text[len(text) - (limit - head - 1) :]}"


def file_stem(id: str) -> str:
    """Return an id as the name of a file; one that had to be changed ends in its digest, so that names stay apart.

    Examples
    --------
    >>> file_stem("table.train"), file_stem("../a b")
    ('table.train', '.._a_b-2c2c791a')
    """
    safe = _UNSAFE.sub("_", id)[:MAX_STEM]
    return safe if safe == id else f"{safe}-{hashlib.sha256(id.encode('utf-8', 'backslashreplace')).hexdigest()[:8]}"


def count(number_of: int, noun: str, many: str = "") -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> count(1, "row"), count(3, "row"), count(0, "class", "classes")
    ('1 row', '3 rows', '0 classes')
    """
    return f"{number_of} {noun if number_of == 1 else many or noun + 's'}"


def code_point(character: str) -> str:
    """Return a character as its code point, ``[U+202E]``."""
    return f"[U+{ord(character):04X}]"


def is_sha256(text: str) -> bool:
    """Say whether a text is a SHA-256 in hexadecimal, and not a reason why there is none."""
    return len(text) == 64 and not set(text) - set("0123456789abcdef")
