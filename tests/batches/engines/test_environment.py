import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from batches.engines.environment import (
    build_environment,
    pass_env_problem,
    prepare_folders,
    server_path,
)

SECRETS = {
    "ANTHROPIC_API_KEY": "sk-1",
    "OPENAI_API_KEY": "sk-2",
    "AWS_SECRET_ACCESS_KEY": "aws",
    "CODEFRAME_SECRET_KEY": "django",
    "DATABASE_URL": "postgres://u:p@h/d",
    "DJANGO_SETTINGS_MODULE": "codeframe_site.settings",
    "PYTHONPATH": "/server",
    "PYTHONHOME": "/server",
    "VIRTUAL_ENV": "/server/.venv",
    "GIT_DIR": "/server/.git",
    "GIT_SSH_COMMAND": "evil",
    "SSH_AUTH_SOCK": "/agent.sock",
    "LD_PRELOAD": "/evil.so",
    "BASH_ENV": "/evil.sh",
}
DUMP = "import json, os; print(json.dumps(dict(os.environ)))"


@pytest.fixture
def folders(tmp_path):
    return {"home": tmp_path / "home", "tmp": tmp_path / "tmp"}


def _seen_by_a_child(env):
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", DUMP], env=env, capture_output=True, check=True
    )
    seen = json.loads(done.stdout)
    seen.pop("LC_CTYPE", None)  # Python itself sets it under the C locale
    return seen


def test_a_child_sees_only_names_that_are_allowed(folders, monkeypatch):
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    seen = _seen_by_a_child(build_environment(**folders, source=os.environ))
    assert set(seen) <= {
        "PATH", "HOME", "TMPDIR", "USER", "LOGNAME", "LANG", "LC_ALL", "TERM", "TZ",
        "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
        "GIT_CONFIG_NOSYSTEM", "GIT_TERMINAL_PROMPT",
        "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
        "http_proxy", "https_proxy", "all_proxy", "no_proxy",
        "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
        "NODE_EXTRA_CA_CERTS",
    }  # fmt: skip
    assert not set(SECRETS.values()) & set(seen.values())


def test_a_name_that_is_passed_through_is_seen_and_no_other(folders):
    env = build_environment(**folders, pass_env=["OPENAI_API_KEY", "NOT_SET"], source=SECRETS)
    assert env["OPENAI_API_KEY"] == "sk-2"
    assert "ANTHROPIC_API_KEY" not in env
    assert "NOT_SET" not in env


def test_proxies_and_certificates_get_through(folders):
    source = {"HTTPS_PROXY": "http://proxy:1", "no_proxy": "localhost", "SSL_CERT_FILE": "/ca.pem"}
    env = build_environment(**folders, source=source)
    assert source.items() <= env.items()


@pytest.mark.parametrize(
    ("source", "lang"),
    [({}, "C.UTF-8"), ({"LANG": ""}, "C.UTF-8"), ({"LANG": "de_DE.UTF-8"}, "de_DE.UTF-8")],
)
def test_output_is_utf8_unless_the_server_says_otherwise(folders, source, lang):
    assert build_environment(**folders, source=source)["LANG"] == lang


def test_the_servers_own_environment_and_relative_entries_are_not_on_the_path(monkeypatch):
    own = Path(sys.prefix) / "bin"
    monkeypatch.setattr(sys, "base_prefix", "/somewhere/else")
    path = server_path({"PATH": f"{own}:.::bin:/opt/tools:{own}/:/usr/bin"})
    assert path.split(":") == ["/opt/tools", "/usr/bin", "/usr/local/bin", "/bin"]


def test_home_and_temporary_folder_are_private_even_if_they_were_not(folders):
    folders["tmp"].mkdir(mode=0o755)
    for _ in range(2):
        prepare_folders(**folders)
    for folder in folders.values():
        assert folder.stat().st_mode & 0o777 == 0o700


def test_an_agent_can_commit_with_its_empty_home(folders, tmp_path):
    prepare_folders(**folders)
    env = build_environment(**folders)
    tree = tmp_path / "tree"
    tree.mkdir()
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run(["git", *words], cwd=tree, env=env, check=True, capture_output=True)


def test_a_home_keeps_the_git_configuration_an_agent_left_there(folders):
    prepare_folders(**folders)
    (folders["home"] / ".gitconfig").write_text("[user]\n\tname = other\n")
    prepare_folders(**folders)
    assert "other" in (folders["home"] / ".gitconfig").read_text()


@pytest.mark.parametrize(
    "names", ["NAME", [1], ["A=B"], [""], ["A\0"], ["A\n"], ["HOME"], ["CODEFRAME_SECRET_KEY"],
              ["CODEFRAME_RUN_ID"], ["GIT_TERMINAL_PROMPT"]],
)  # fmt: skip
def test_names_that_cannot_be_passed_are_refused(names):
    assert pass_env_problem(names)


def test_names_that_can_be_passed_are_not_refused():
    assert pass_env_problem(["OPENAI_API_KEY", "CODEFRAME_DEMO_PACE", "_x"]) is None
