"""Alert rules and dashboard: valid, about exported metrics, and documented."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from pydantic import SecretStr
from ruamel.yaml import YAML

from grader.counters import METERS
from grader.maintenance.exporter import Exporter
from tests.fixtures.programs import find_program
from webapp.documentation.build import anchor_of

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CHAPTER = (ROOT / "docs" / "monitoring.md").read_text()
DASHBOARD = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
(GROUP,) = YAML(typ="safe").load((DEPLOY / "alerts.yml").read_text())["groups"]
RULES = GROUP["rules"]
NAME = re.compile(r"\bfairboard_\w+")


@pytest.fixture
def promtool():
    return find_program("promtool", command="apt-get install prometheus")


@pytest.fixture
def exported(service, valkey):
    """The names of all series that the site serves."""
    changes = {"broker_url": SecretStr(valkey.url), "backup_target": "s3://backups"}
    found = Exporter(service.settings.model_copy(update=changes), service.database)
    names = {each.name for each in found.collect()}
    for meter in METERS:
        parts = ("_bucket", "_sum", "_count") if meter.buckets else ("_total",)
        names |= {meter.name + part for part in parts}
    return names


@pytest.mark.parametrize(
    "words",
    [
        ("check", "rules", "deploy/alerts.yml"),
        ("check", "config", "--syntax-only", "deploy/prometheus.yml"),
        ("test", "rules", "tests/deploy/alerts.test.yml"),
    ],
    ids=" ".join,
)
def test_prometheus_accepts_the_rules_and_they_fire_when_they_should(promtool, words):
    done = subprocess.run([promtool, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_is_tested():
    cases = YAML(typ="safe").load((Path(__file__).parent / "alerts.test.yml").read_text())["tests"]
    checks = [check for case in cases for check in case["alert_rule_test"]]
    for fires in (True, False):
        named = {each["alertname"] for each in checks if bool(each.get("exp_alerts")) is fires}
        assert named == {rule["alert"] for rule in RULES}


def test_every_alert_links_to_its_own_section():
    alerts = CHAPTER.partition("\n## Alerts\n")[2]
    anchors = [anchor_of(heading) for heading in re.findall(r"^### (.+)$", alerts, re.MULTILINE)]
    links = [rule["annotations"]["runbook_url"] for rule in RULES]
    prefix = "{{ $externalLabels.site }}/docs/monitoring#"
    assert {link.removeprefix(prefix) for link in links} == set(anchors)


def test_every_metric_in_the_rules_and_the_dashboard_is_exported(exported):
    used = {name for rule in RULES for name in NAME.findall(rule["expr"])}
    used |= {name for expression in expressions() for name in NAME.findall(expression)}
    assert used - exported == set()
    assert len(used) > 20


def test_every_exported_metric_is_in_the_dashboard_and_documented(exported):
    """Histograms are documented without their suffixes, and disks together."""
    shown = {name for expression in expressions() for name in NAME.findall(expression)}
    names = {re.sub(r"_(bucket|sum|count)$", "", name) for name in exported}
    assert names - {re.sub(r"_bucket$", "", name) for name in shown} <= {
        *("fairboard_database_up", "fairboard_broker_up")  # these have alerts
    }
    documented = {f"fairboard_{name}" for name in re.findall(r"`(\w+)`", CHAPTER)}
    assert {name for name in names - documented if not name.startswith("fairboard_disk_")} == set()


def test_expressions_of_the_dashboard_are_valid(promtool, tmp_path):
    """Check them as recording rules, with values for Grafana's variables."""
    rules = [
        {
            "record": f"panel:{number}",
            "expr": each.replace("$__rate_interval", "5m").replace("$job", "board"),
        }
        for number, each in enumerate(expressions())
    ]
    file = tmp_path / "dashboard.yml"
    file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    done = subprocess.run(
        [promtool, "check", "rules", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def expressions():
    return [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())]
