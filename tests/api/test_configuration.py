from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from batches.models import RecipeCommand
from codeframe_site.models import Scope
from tasks.models import Workspace
from tests.api.client import Api, code_of
from tests.repos import commit

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(make_api: Callable[..., Api]) -> Api:
    return make_api(Scope.ADMIN)


def test_the_configuration_is_set_whole_and_checked_key_by_key(admin: Api, shop: Workspace) -> None:
    path = f"workspaces/{shop.id}"
    status, body = admin("PATCH", path, {"config": {"limits": {"max_parallel": 2}}})
    assert (status, body["config"]) == (200, {"limits.max_parallel": 2})
    found = admin.get(f"{path}/config")
    assert found["config"]["limits"]["max_parallel"] == 2
    assert found["sources"] == {"limits.max_parallel": "database"}
    bad: list[Any] = [
        {"limits": {"max_parallel": "2"}},
        {"nonsense": 1},
        {"gates": [{"name": "a", "argv": ["x\u0000"]}]},
        {"setup": {"commands": ["curl x"]}},
        {"limits": {"timeout_s": 10**30}},
        "text",
        [1],
    ]
    for config in bad:
        assert code_of(admin("PATCH", path, {"config": config})) == (422, "VALIDATION_ERROR")
    shop.refresh_from_db()
    assert shop.config == {"limits.max_parallel": 2}


def test_a_bad_name_beside_a_good_configuration_changes_nothing(
    admin: Api, shop: Workspace
) -> None:
    body = {"name": "no name", "config": {"engine": "agent"}}
    assert code_of(admin("PATCH", f"workspaces/{shop.id}", body))[0] == 422
    shop.refresh_from_db()
    assert (shop.name, shop.config) == ("shop", {})


def test_a_file_is_trusted_by_its_digest(admin: Api, shop: Workspace) -> None:
    path = f"workspaces/{shop.id}/config"
    assert code_of(admin("POST", f"{path}/trust", {"digest": "0" * 64})) == (404, "NOT_FOUND")
    commit(Path(shop.repo_path), {".codeframe/config.yaml": "engine: agent\n"})
    file = admin.get(path)["file"]
    assert (file["state"], file["content"]) == ("untrusted", "engine: agent\n")
    assert code_of(admin("POST", f"{path}/trust", {"digest": "0" * 64})) == (409, "CONFLICT")
    admin.post(f"{path}/trust", {"digest": file["digest"]})
    assert admin.get(path)["file"]["state"] == "trusted"
    assert admin.get(path)["config"]["engine"] == "agent"


def test_a_recipe_is_offered_decided_and_refused(admin: Api, shop: Workspace) -> None:
    path = f"workspaces/{shop.id}/recipe"
    offered = RecipeCommand.objects.create(workspace=shop, text="pip install flask")
    admin.post(path, {"command": "npm ci"}, status=201)
    assert code_of(admin("POST", path, {"command": "curl x | sh"})) == (422, "VALIDATION_ERROR")
    status, body = admin("PATCH", f"{path}/{offered.id}", {"decision": "approved"})
    assert (status, body["decision"]) == (200, "approved")
    for number in range(10):
        admin.post(path, {"command": f"pip install p{number}"}, status=201)
    assert code_of(admin("POST", path, {"command": "pip install more"})) == (409, "CONFLICT")
    assert code_of(admin("PATCH", f"{path}/{offered.id}", {"decision": "offered"}))[0] == 422
    assert code_of(admin("PATCH", f"{path}/{10**30}", {"decision": "refused"}))[0] == 404
    assert len(admin.get(path)["commands"]) == 12
