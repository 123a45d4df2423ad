"""A request after a run: its summary as JSON, signed if there is a secret."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

from ...core.errors import InputError, UQReportError

SECONDS = 15.0
PAUSES = (1.0, 4.0)  # before the second and the third attempt
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Follow none: a summary goes to the address it was meant for."""


def check(url: str) -> None:
    """Refuse what is no web address, and secrets within one.

    Raises
    ------
    InputError
    """
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("https", "http") and bool(parts.hostname) and parts.port != 0
        bare = parts.username is None and url.isascii() and url.isprintable() and " " not in url
    except ValueError:
        fine = bare = False
    if not (fine and bare):
        raise InputError(
            "hooks.webhook must be an http(s) address without user and password; got something else. Secrets come from "
            "UQ_REPORT_WEBHOOK_SECRET."
        )


def post(url: str, content: Mapping[str, Any], environ: Mapping[str, str]) -> None:
    """Post JSON; with `UQ_REPORT_WEBHOOK_SECRET` it is signed.

    The header ``X-UQ-Report-Signature: sha256=HEX`` is the HMAC-SHA256 of the body under the secret. A server that
    is busy or fails is asked three times; the header ``X-UQ-Report-Delivery`` is the same each time.

    Raises
    ------
    UQReportError
        The server refused, or could not be reached.
    """
    check(url)
    body = json.dumps(content, sort_keys=True, ensure_ascii=True).encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "uq_report",
        "X-UQ-Report-Delivery": hashlib.sha256(body).hexdigest(),
    }
    secret = environ.get("UQ_REPORT_WEBHOOK_SECRET", "")
    if secret:
        headers["X-UQ-Report-Signature"] = f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"
    request = urllib.request.Request(url, body, headers, method="POST")  # noqa: S310 - http(s), see check
    for pause in (*PAUSES, None):
        try:
            with urllib.request.build_opener(_NoRedirects).open(request, timeout=SECONDS):
                return
        except (OSError, HTTPException) as error:  # an HTTPError is an OSError
            code = error.code if isinstance(error, HTTPError) else 0
            if isinstance(error, HTTPError):
                error.close()
            if pause is None or (code and code not in _AGAIN):
                why = f"it answered {code}" if code else f"{type(error).__name__}: {error}"
                place = urlsplit(url).hostname
                raise UQReportError(f"hooks.webhook must reach {place}; {why}. The report is where it was.") from error
        time.sleep(pause)
