import pytest

from batches.reasons import Reason


@pytest.mark.parametrize("reason", Reason)
def test_each_reason_is_its_code_and_has_a_sentence(reason):
    assert Reason(str(reason)) is reason
    assert reason == reason.name.lower()
    assert reason.sentence.endswith(".")
    assert len(reason) <= 40


@pytest.mark.parametrize("reason", Reason)
def test_what_is_retried_for_nothing_is_retryable(reason):
    assert reason.retryable or not reason.infrastructure


def test_what_a_retry_cannot_mend_is_not_retryable():
    hopeless = {reason for reason in Reason if not reason.retryable}
    assert hopeless == {
        "engine_missing",
        "auth",
        "bad_request",
        "refused_permission",
        "question",
        "budget",
        "dependency_failed",
        "stopped_after_failure",
        "cancelled",
        "stopped",
        "repository_lost",
        "task_moved",
    }
