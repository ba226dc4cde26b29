"""Installation files: locks, compose file, image, make targets, CI script."""

import importlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
from celery import Celery
from ruamel.yaml import YAML

from grader.cli import main
from grader.settings import PREFIX, Settings

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def compose():
    return YAML(typ="safe").load((ROOT / "docker-compose.yml").read_text())


# --- docker-compose.yml


def test_compose_file_follows_the_compose_schema():
    subprocess.run(
        [BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", "docker-compose.yml"],
        cwd=ROOT,
        check=True,
    )


def test_services_have_few_privileges_their_settings_and_what_they_mount(compose):
    ours = 0
    for name, service in compose["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        users = {"10001:10001", "1000:1000", "postgres", "valkey", "nginx", "nobody"}
        assert service["user"] in users, name
        # The kernel rejects Caddy's binary, which has this capability, if the container lacks it.
        assert service.get("cap_add") == (["NET_BIND_SERVICE"] if name == "caddy" else None), name
        if service["image"] == "fairboard:latest":
            ours += 1
            assert service["env_file"] == [{"path": ".env", "required": False}], name
        mounted = {volume.split(":")[0] for volume in service.get("volumes", [])}
        files = {each for each in mounted if each.startswith("./")}
        assert all((ROOT / each).exists() for each in files), name
        assert mounted - files <= set(compose["volumes"]), name
        assert set(service.get("secrets", [])) <= set(compose["secrets"]), name
        for other, how in service.get("depends_on", {}).items():
            if how["condition"] == "service_healthy":
                assert "healthcheck" in compose["services"][other], f"{name} depends on {other}"
    assert ours == 4 and ".env" in (ROOT / ".gitignore").read_text().split()


def test_every_command_of_the_compose_file_and_of_the_image_exists(compose, tmp_path):
    commands = [
        each["command"] for each in compose["services"].values() if each["image"] == "fairboard:latest"
    ]
    (image,) = re.findall(r"^CMD \[(.+)\]$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    for command in (*commands, re.findall(r'"([^"]+)"', image)):
        check_command([str(word) for word in command], tmp_path)


def test_numbers_of_processes_are_read_from_the_settings(tmp_path):
    """The commands of the units, the Compose file and the manifests state no numbers."""
    files = [
        ROOT / "docker-compose.yml",
        *(ROOT / "deploy").rglob("*.service"),
        *(ROOT / "deploy").rglob("*.yaml"),
    ]
    assert not [
        path for path in files if re.search(r"--(workers|threads|concurrency=[^1])", path.read_text())
    ]
    environment = {**os.environ, "FAIRBOARD_DATA_DIR": str(tmp_path)}
    environment |= {
        "FAIRBOARD_WEB_WORKERS": "3",
        "FAIRBOARD_WEB_THREADS": "5",
        "FAIRBOARD_SCORING_PROCESSES": "4",
    }
    web = [BIN / "gunicorn", "--print-config", "--config=python:webapp.wsgi", "webapp.wsgi:app"]
    told = subprocess.run(web, env=environment, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"^(?:workers|threads) += (\d+)$", told, re.MULTILINE) == ["5", "3"]
    worker = "from grader.worker.app import celery_app; print(celery_app.conf.worker_concurrency)"
    told = subprocess.run(
        [sys.executable, "-c", worker], env=environment, capture_output=True, text=True
    ).stdout
    assert told == "4\n"


def check_command(words, data_dir):
    program, *arguments = words
    assert (BIN / program).exists(), program
    if program == "fairboard":
        assert arguments[0] in main.list_commands(None), words
        assert main.get_command(click.Context(main), arguments[0]) is not None, words
    if program == "celery":
        module, _, name = re.search(r"--app[ =](\S+)", " ".join(arguments))[1].partition(":")
        assert isinstance(getattr(importlib.import_module(module), name), Celery), words
    if program == "gunicorn":
        subprocess.run(
            [BIN / "gunicorn", "--check-config", *arguments],
            env={**os.environ, "FAIRBOARD_DATA_DIR": str(data_dir)},
            check=True,
        )


def test_every_setting_in_the_compose_file_and_the_image_exists(compose):
    known = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    named = {
        name
        for service in compose["services"].values()
        for name in service.get("environment", {})
        if name.startswith(PREFIX)
    }
    named |= set(re.findall(r"(FAIRBOARD_\w+)=", (ROOT / "Dockerfile").read_text()))
    assert {name.removesuffix("_FILE") for name in named} <= known


def test_only_services_that_send_mail_or_are_public_have_outbound_network_access(compose):
    networks = {name: set(service["networks"]) for name, service in compose["services"].items()}
    assert compose["networks"]["inside"]["internal"] is True
    assert {name for name, joined in networks.items() if "outside" in joined} == {"proxy", "caddy", "sweeper"}
    assert {name for name, joined in networks.items() if "door" in joined} == {"proxy", "caddy", "web"}
    # The database and the queue use this network.
    assert "inside" not in networks["proxy"] | networks["caddy"]
    public = {name: service["ports"] for name, service in compose["services"].items() if "ports" in service}
    assert public.keys() == {"proxy", "caddy"}
    assert public["proxy"] == public["caddy"]
    assert compose["services"]["web"]["environment"]["FAIRBOARD_TRUSTED_PROXIES"] == 1


def test_images_of_other_projects_and_actions_are_pinned(compose):
    images = [service["image"] for service in compose["services"].values()]
    images += re.findall(r"^ARG BASE=(.+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    for image in images:
        assert image.startswith("fairboard:") or re.fullmatch(r"\S+:\S+@sha256:[0-9a-f]{64}", image), image
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        for used in re.findall(r"uses: (.+)", path.read_text()):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", used), used


def path_with_only(folder, *commands):
    for command in commands:
        (folder / command).symlink_to(shutil.which(command))
    return {"PATH": str(folder)}


def test_make_secrets_writes_every_secret_that_compose_reads_once_without_python(compose, tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "bin").mkdir()
    environment = path_with_only(tmp_path / "bin", "make", "openssl", "mkdir", "cat", "chmod")
    for _ in range(2):
        make = ["make", "--silent", "secrets"]
        subprocess.run(make, cwd=tmp_path, check=True, capture_output=True, env=environment)
    for secret in compose["secrets"].values():
        assert len((tmp_path / secret["file"]).read_text().strip()) >= 48
    password = (tmp_path / "secrets/postgres_password").read_text()
    assert f":{password}@postgres/" in (tmp_path / "secrets/database_url").read_text()
    assert (tmp_path / "secrets").stat().st_mode & 0o077 == 0
    assert (tmp_path / ".env").read_text() == "COMPOSE_PROFILES=nginx\n"


# --- Dockerfile


def copied_paths():
    lines = re.findall(r"^COPY (?!--from)(.+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    return [path for line in lines for path in line.split()[:-1]]


def test_image_copies_every_package_of_the_wheel_and_its_paths_are_sent_to_the_builder():
    sent = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    for path in copied_paths():
        assert (ROOT / path).exists(), path
        assert path.split("/")[0] in sent, path
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]) <= set(copied_paths())


# --- workflows


def test_workflows_follow_the_schema_and_run_targets_of_the_makefile():
    workflows = sorted((ROOT / ".github/workflows").glob("*.yml"))
    schema = ["--builtin-schema", "vendor.github-workflows"]
    subprocess.run([BIN / "check-jsonschema", *schema, *workflows], check=True)
    updates = ["--builtin-schema", "vendor.dependabot", ROOT / ".github/dependabot.yml"]
    subprocess.run([BIN / "check-jsonschema", *updates], check=True)
    for path in workflows:
        assert set(re.findall(r"\bmake ([a-z-]+)", path.read_text())) <= targets()


# --- locks


def run_lock_check(folder):
    done = subprocess.run([sys.executable, folder / "requirements/check.py"], capture_output=True, text=True)
    assert (done.returncode == 0) == (done.stderr == "")
    return done.stderr


def test_locks_satisfy_the_project():
    assert run_lock_check(ROOT) == ""


@pytest.mark.parametrize(
    ("path", "pattern", "replacement", "said"),
    [
        ("pyproject.toml", r'"click>=8\.1"', '"click>=8.1", "lacking"', "does not satisfy lacking"),
        ("pyproject.toml", r'"flask>=3\.1\.3"', '"flask>=99"', "image.lock does not satisfy flask>=99"),
        ("requirements/image.lock", r"(?m)^click==\S+", "click==8.9999", "click 8.9999, but dev.lock"),
        ("requirements/app.lock", r"\Z", "# https://example.org\n", "app.lock contains a URL"),
        ("requirements/app.lock", r"(?m)^(click==\S+)( \\\n    --hash=\S+)+", r"\1", "click has no hash"),
    ],
)
def test_unsatisfied_lock_is_reported(tmp_path, path, pattern, replacement, said):
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    text = (tmp_path / path).read_text()
    changed = re.sub(pattern, replacement, text, count=1)
    assert changed != text
    (tmp_path / path).write_text(changed)
    assert said in run_lock_check(tmp_path)


PRECOMPILE_WITHOUT_OTHERS = """
import importlib.metadata, re, runpy, sys
locked = set(re.findall(r"(?m)^([a-z0-9-]+)==", open("requirements/image.lock").read())) | {"fairboard"}
for package, owners in importlib.metadata.packages_distributions().items():
    if not locked & {re.sub(r"[-_.]+", "-", owner).lower() for owner in owners}:
        sys.modules.setdefault(package, None)
runpy.run_path("requirements/precompile.py", run_name="__main__")
"""


def test_precompilation_needs_only_the_packages_of_the_image():
    """`make demo` and the image precompile the modules of a site without the packages of other extras."""
    done = subprocess.run(
        [sys.executable, "-c", PRECOMPILE_WITHOUT_OTHERS], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


# --- make and .ci/run


def targets():
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
