"""The page of a finding code: meaning, rule, thresholds, measured false alarms and power, and remedy."""

from collections.abc import Iterable

from .rule import Rule, powers, rates, stated


def page(rule: Rule, check: str) -> str:
    """Return the page of a rule in Markdown.

    Examples
    --------
    >>> rule = Rule(code="UQ102", title="Too few", when="Below {least}.", rests_on="", thresholds={"least": 20})
    >>> print(page(rule, "calibration").splitlines()[0])
    # UQ102: Too few
    """
    return "\n".join(_lines(rule, check)) + "\n"


def _lines(rule: Rule, check: str) -> Iterable[str]:
    text = stated().get(rule.code, {})
    yield f"# {rule.code}: {rule.title}"
    if text:
        yield from ("", text["meaning"], "", f"Example: *{text['example']}*")
    yield from ("", "## Rule", "", rule.text, "", f"The worst severity of this finding is *{rule.severity}*.")
    if rule.thresholds:
        yield from ("", "| threshold | value |", "|---|---|")
        yield from (f"| `{name}` | {value:g} |" for name, value in rule.thresholds.items())
    yield from ("", f"The thresholds are options of the check `{check}`, key `[checks.{check}]` of audit.toml.")
    if rate := rates().get(rule.code):
        yield from ("", "## False alarms", "")
        yield f"Worst rate of claims above an observation over the designs of honest models: {rate.words} audits."
    if power := powers().get(rule.code):
        yield from ("", "## Power", "")
        yield "Audits with a planted fault that raise this code above an observation, for the right feature. Another"
        yield "code may name the same fault."
        yield from ("", "| fault | size | raised |", "|---|---|---|")
        yield from (f"| {fault} | {size} | {raised} of {n} |" for fault, (size, raised, n) in power.items())
    if text:
        yield from ("", "## What to do", "", text["action"])
    waiver = f'[[waivers]]\ncode = "{rule.code}"\nowner = "…"\nreason = "…"\nexpires = "2027-12-31"'
    yield from ("", "## How to waive it", "", "A waived finding stays in the report and fails no gate:", "")
    yield from ("```toml", waiver, "```")
    if rule.rests_on:
        yield from ("", "## Source", "", rule.rests_on)
