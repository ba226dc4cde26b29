"""Kubernetes manifests: schemas, settings, commands, probes, selectors and security contexts."""

import re
from pathlib import Path

import kubernetes_validate
import pytest
from ruamel.yaml import YAML

from grader.settings import PREFIX, Settings

FOLDER = Path(__file__).parents[2] / "deploy" / "kubernetes"
ROLES = {"web", "worker", "sweeper", "migrate"}


def documents(name):
    return list(YAML(typ="safe").load_all((FOLDER / name).read_text()))


NO_MANIFESTS = {"kustomization.yaml", "Chart.yaml", "values.yaml"}
FILES = sorted({path.name for path in FOLDER.glob("*.yaml")} - NO_MANIFESTS)
OBJECTS = [each for name in FILES for each in documents(name)]


def of(kind):
    return {each["metadata"]["name"]: each for each in OBJECTS if each["kind"] == kind}


PODS = {name: each["spec"]["template"] for kind in ("Deployment", "Job") for name, each in of(kind).items()}
CONTAINERS = {name: pod["spec"]["containers"][0] for name, pod in PODS.items()}


@pytest.mark.parametrize("name", FILES)
def test_manifest_follows_the_schemas_of_kubernetes(name):
    for each in documents(name):
        kubernetes_validate.validate(each, kubernetes_validate.latest_version(), strict=True)


def test_no_outage_of_the_broker_or_database_blocks_drains():
    """Without the broker, all workers are unready, so budgets would otherwise forbid every eviction."""
    budgets = of("PodDisruptionBudget").values()
    assert len(budgets) == 3
    assert {each["spec"].get("unhealthyPodEvictionPolicy") for each in budgets} == {"AlwaysAllow"}


def test_every_temporary_volume_is_limited_and_the_rank_cache_fits_into_its_volume():
    gigabytes = {}
    for name, pod in PODS.items():
        for volume in pod["spec"].get("volumes", []):
            size = re.fullmatch(r"(\d+)Gi", volume["emptyDir"].get("sizeLimit", ""))
            assert size, (name, volume["name"])
            gigabytes[name, volume["name"]] = int(size[1])
    (settings,) = of("ConfigMap").values()
    cache = int(settings["data"]["FAIRBOARD_RANK_CACHE_MB"]) / 1000
    for role in ("web", "worker", "sweeper"):
        name = f"fairboard-{role}"
        assert gigabytes[name, "cache"] > cache + 1, name
        requested = CONTAINERS[name]["resources"]["requests"]["ephemeral-storage"]
        assert requested == f"{gigabytes[name, 'cache']}Gi", name


def test_every_setting_exists():
    known = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    given = [set(each["data"]) for each in of("ConfigMap").values()]
    given += [set(each["stringData"]) for each in of("Secret").values()]
    assert {name for names in given for name in names if name.startswith(PREFIX)} <= known
    others = {name for names in given for name in names if not name.startswith(PREFIX)}
    assert others == {"AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}


def test_only_the_migration_receives_the_administrators_password():
    readers = {
        name
        for name, container in CONTAINERS.items()
        for source in container.get("envFrom", [])
        if source.get("secretRef", {}).get("name") == "fairboard-administrator"
    }
    assert readers == {"fairboard-migrate"}


def test_image_and_port_are_those_of_the_dockerfile():
    assert {CONTAINERS[f"fairboard-{role}"]["image"] for role in ROLES} == {"fairboard"}
    dockerfile = (FOLDER.parents[1] / "Dockerfile").read_text()
    (port,) = CONTAINERS["fairboard-web"]["ports"]
    assert f"EXPOSE {port['containerPort']}\n" in dockerfile
    assert "USER 10001:10001\n" in dockerfile


def test_every_probe_requests_an_existing_page_or_runs_a_program_of_the_image(arena):
    adapter = arena.app.url_map.bind("localhost")
    probed = set()
    for name, container in CONTAINERS.items():
        for probe in (each for key, each in container.items() if key.endswith("Probe")):
            probed.add(name)
            if "httpGet" in probe:
                assert adapter.test(probe["httpGet"]["path"], "GET")
                assert probe["httpGet"]["port"] in {port["name"] for port in container["ports"]}
            elif "exec" in probe:
                assert probe["exec"]["command"][2].split()[0] in {"celery", "find"}
    assert probed == set(PODS) - {"fairboard-migrate"}


def test_liveness_of_web_processes_does_not_depend_on_the_database():
    assert CONTAINERS["fairboard-web"]["livenessProbe"]["httpGet"]["path"] == "/livez"


@pytest.mark.parametrize("name", PODS)
def test_every_pod_runs_without_unnecessary_privileges(name):
    pod, container = PODS[name]["spec"], CONTAINERS[name]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is pod["enableServiceLinks"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert "memory" in container["resources"]["limits"]


def test_every_selector_matches_pods():
    labels = [pod["metadata"]["labels"] for pod in PODS.values()]
    kinds = ("Deployment", "PodDisruptionBudget")
    selectors = [each["spec"]["selector"]["matchLabels"] for kind in kinds for each in of(kind).values()]
    selectors += [each["spec"]["selector"] for each in of("Service").values()]
    selectors += [each["spec"]["podSelector"]["matchLabels"] for each in of("NetworkPolicy").values()]
    for selector in selectors:
        assert any(selector.items() <= each.items() for each in labels), selector


def test_every_reference_leads_to_an_object_of_these_files():
    (scaler,) = of("HorizontalPodAutoscaler").values()
    assert scaler["spec"]["scaleTargetRef"]["name"] in of("Deployment")
    assert "replicas" not in of("Deployment")["fairboard-worker"]["spec"]  # set by the autoscaler
    (ingress,) = of("Ingress").values()
    (path,) = ingress["spec"]["rules"][0]["http"]["paths"]
    assert path["backend"]["service"]["name"] in of("Service")
    (settings,) = of("ConfigMap").values()
    broker = settings["data"]["FAIRBOARD_BROKER_URL"]
    assert broker.removeprefix("redis://").partition(":")[0] in of("Service")
