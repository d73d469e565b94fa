"""Proofs, and why something does not hold, as text that people read.

    {"claim": "slow(a)", "kind": "rule", "until": 14,      slow(a)   until 14
     "rule": "slow(S) :- …", "because": [{…}]}        becomes    by slow(S) :- …
                                                                   speed(a,12) at 12   [stream] until 14

They are read from their data, so that what a service says is shown as what was found here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from thalweg.model.predicate import with_files


def proof_text(proof: Mapping[str, Any], indent: str = "") -> str:
    """A step of a derivation and those that it rests on, as `why --format json` has them."""
    lines = [_step(proof, indent)]
    if rule := proof.get("rule"):
        lines.append(f"{indent}  by {with_files(rule)}{_in_brackets(proof.get('place'))}")
    lines += [proof_text(step, f"{indent}    ") for step in proof.get("because", ())]
    return "\n".join(lines)


def absence_text(absence: Mapping[str, Any], indent: str = "") -> str:
    """How far each rule got that could derive what does not hold."""
    lines = [f"{indent}{with_files(absence['note'])}"] if "note" in absence else []
    lines += [_failed_rule(rule, indent) for rule in absence["rules"]]
    if more := absence.get("more_rules"):
        lines.append(f"{indent}… nor by {more} more rules")
    if absence.get("cut"):
        lines.append(f"{indent}only some of the facts were looked at: other values may have got further")
    return "\n".join(lines)


def _failed_rule(failed: Mapping[str, Any], indent: str) -> str:
    lines = [f"{indent}not by {failed['rule']}{_in_brackets(failed.get('place'))}"]
    for attempt in failed["attempts"]:
        lines += [_step(step, f"{indent}    ") for step in attempt["held"]]
        lines.append(f"{indent}    {'but ' if attempt['held'] else ''}{attempt['reason']}")
    if others := failed.get("others"):
        lines.append(f"{indent}    … and {others} more that got as far")
    return with_files("\n".join(lines))


def _in_brackets(place: str | None) -> str:
    return f"   ({place})" if place else ""


def _step(proof: Mapping[str, Any], indent: str) -> str:
    """What holds, where it comes from, and until when it holds."""
    claim, recorded = proof["claim"], ""
    if proof["kind"] == "recorded":
        claim, _, recorded = claim.partition(" at ")
    unless = proof.get("unless", ())
    return f"{indent}{claim}   {with_files(_when(proof['kind'], proof['until'], unless, recorded))}"


def _when(kind: str, last: int | str | None, unless: Sequence[str], recorded: str) -> str:
    until = "for ever" if last is None else f"until {last}"
    match kind:
        case "event" | "triple" if last is None:
            return f"[{kind}]"
        case "stream" | "background" | "every tick" | "event":
            return f"[{kind}] {until}"
        case "recorded":
            origin = f"[recorded at {recorded}]" if recorded else "[recorded]"
            return f"{origin} until {unless[0]}" if unless else f"{origin} {until}"
        case "counted":
            return f"[stream] until {unless[0]}"
        case "absent":
            return "[absent] now"
        case "answer set":
            return f"[answer set] until {unless[0]}"
    return f"{until} unless {', '.join(unless)}" if unless else until
