"""Commands that prove what a report is: verify and sign."""

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from ..core.support.errors import DONE, INPUT, UNJUDGED, VERIFICATION
from .shared import AsJson, Quiet, app, print_json, say

PASSPHRASE = "UQ_REPORT_KEY_PASSPHRASE"  # noqa: S105 - the name of a variable
_ENDS = {"verified": DONE, "failed": VERIFICATION, "not assessed": UNJUDGED}

Templates = Annotated[Path | None, typer.Option(help="The theme the report was made with.")]


@app.command(epilog="Example: uq-report verify out/ --deep")
def verify(  # noqa: PLR0913, PLR0917 - flags
    path: Annotated[Path, typer.Argument(metavar="REPORT", help="A PDF, an HTML file, or the folder of a run.")],
    run: Annotated[Path | None, typer.Option(help="The run.json; else the one inside or beside the report.")] = None,
    model: Annotated[Path | None, typer.Option(help="The model file that was audited.")] = None,
    data: Annotated[Path | None, typer.Option(help="The file with the audited rows.")] = None,
    train: Annotated[Path | None, typer.Option(help="The file with the training rows.")] = None,
    templates: Templates = None,
    trust: Annotated[list[Path] | None, typer.Option(help="Certificate a signer's must lead to; repeat.")] = None,
    require_signature: Annotated[
        bool, typer.Option("--require-signature", help="Fail without a signature; --trust asks for one too.")
    ] = False,
    deep: Annotated[bool, typer.Option("--deep", help="Make the report again and compare it byte by byte.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Check that a report is what its evidence says, and the evidence what was audited; exit code 5 if not.

    Exit code 6 says that something could not be assessed here. Without --deep, pages are compared with the hash listed
    in SHA256SUMS, and not made again.
    """
    from ..ops.verification import verify as verified

    files = {"run": run, "model": model, "data": data, "train": train, "templates": templates}
    verdict = verified(path, **files, trust=trust or (), require_signature=require_signature, deep=deep)
    code = _ENDS[verdict.outcome]
    if as_json:
        print_json({"exit_code": code, **verdict.as_dict()})
    elif not (quiet and verdict.ok):
        for claim in verdict.claims:
            if not quiet or claim.state in ("failed", "error"):
                say(str(claim), err=quiet)
        say(verdict.summary, err=quiet)
    if code != DONE:
        raise typer.Exit(code)


@app.command(epilog="Example: uq-report sign report.pdf --key me.key --cert me.pem -o signed.pdf")
def sign(  # noqa: PLR0913, PLR0917 - flags
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="A PDF report, or an anchor of a history.")],
    key: Annotated[Path, typer.Option(help="Private key, PEM or DER.")],
    cert: Annotated[Path, typer.Option(help="Its certificate.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The signed PDF; of an anchor its .p7s.")],
    chain: Annotated[list[Path] | None, typer.Option(help="Certificates between it and a root; repeat.")] = None,
    field: Annotated[str, typer.Option(help="Name of the signature, such as Validator.")] = "Signature",
    reason: Annotated[str, typer.Option(help="Why it is signed.")] = "",
    certify: Annotated[
        Literal["no-changes", "fill-forms", "approval"],
        typer.Option(help="What may follow the first signature. Later signers: approval."),
    ] = "no-changes",
    timestamp_url: Annotated[str, typer.Option(help="RFC 3161 service, asked over the network.")] = "",
    draft: Annotated[bool, typer.Option("--draft", help="Sign although the report is a draft.")] = False,
    templates: Templates = None,
    quiet: Quiet = False,
) -> None:
    """Sign a PDF report that verifies (PAdES); the passphrase is asked for, or in UQ_REPORT_KEY_PASSPHRASE.

    The signature of an anchor (CMS) is a file of its own: anchor.json.p7s beside anchor.json.
    """
    from ..ops.anchors import is_anchor, sign_anchor
    from ..ops.signing import SignatureTerms, is_encrypted, load_signer, sign as signed, stamper

    terms = SignatureTerms(field, reason, certify, timestamp_url, draft)
    signer = load_signer(key, cert, chain or (), _passphrase() if is_encrypted(key) else None)
    if is_anchor(report):
        sign_anchor(report, output, signer, stamper(terms))
        return
    done = signed(report, output, signer, terms, templates=templates)
    if not quiet:
        start = f"its first {done.unsigned_bytes} bytes have SHA-256 {done.unsigned_sha256}"
        say(f"Signed in {done.path}; {start}")


def _passphrase() -> str:
    """Return the passphrase of the environment, or ask for it where somebody can answer."""
    if PASSPHRASE in os.environ:
        return os.environ[PASSPHRASE]
    if not sys.stdin.isatty():
        say(f"Error: sign.key is encrypted and nobody can be asked. Set {PASSPHRASE}.", err=True)
        raise typer.Exit(INPUT)
    return str(typer.prompt("Passphrase of the key", hide_input=True, err=True))
