"""Vetting: what the change must not contain is found before anything runs on it."""

from batches.context import RunContext, StageFailed
from batches.integration import changes, vetting
from batches.integration.protecting import protecting
from batches.models import Finding
from batches.persist import persist
from batches.reasons import Reason
from batches.results import failed
from batches.shown import adds_secret
from batches.stages.capture import Change
from batches.stages.judge import DENIED
from batches.stages.provision import config_of
from costs import redaction
from tasks.text import stored
from tasks.workspaces.git import Store


def vet_change(context: RunContext, change: Change) -> None:
    """Raises StageFailed when a finding refuses the change."""
    if not change.changed:
        return
    with context.stage("vet"):
        context.scope.check()
        store = context.place.store
        listed = change.paths
        if listed is None:
            listed = changes.list_changes(store, base=change.base, commit=change.commit)
        rules = [*vetting.RULES, *protecting(config_of(context).get("protected_paths", []))]
        findings = vetting.vet(store, commit=change.commit, changes=listed, rules=rules)
        findings += _leaked(store, change)
        if findings:
            persist(lambda: _record(context, findings))
        refused = [finding for finding in findings if finding.severity == "refuse"]
        if refused:
            raise StageFailed(failed(Reason.VETTING_REFUSED, _sentence(refused)))


def _leaked(store: Store, change: Change) -> list[vetting.Finding]:
    """A secret that the server knows, in what would be integrated; not which one."""
    if not redaction.known().longest:
        return []
    file = store.scratch_file("vet-patch")
    try:
        changes.diff_patch(store, base=change.base, commit=change.commit, output=file, context=0)
        leaked = adds_secret(file)
    finally:
        file.unlink(missing_ok=True)
    if not leaked:
        return []
    message = "a key or password that the server knows is in the change"
    return [vetting.Finding(rule="secret", severity="refuse", path=b"", message=message)]


def _record(context: RunContext, findings: list[vetting.Finding]) -> None:
    known = Finding.objects.filter(run=context.run).exclude(rule=DENIED)
    known.delete()  # an interrupted vetting begins anew
    Finding.objects.bulk_create(
        Finding(
            run=context.run,
            rule=finding.rule,
            severity=finding.severity,
            path=_shown(finding.path),
            message=stored(finding.message),
        )
        for finding in findings
    )


def _sentence(findings: list[vetting.Finding]) -> str:
    first = findings[0]
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    message = f"{_shown(first.path)}: {first.message}" if first.path else first.message.capitalize()
    return f"{message}{more}"


def _shown(path: bytes) -> str:
    return stored(path.decode("utf-8", "backslashreplace"))
