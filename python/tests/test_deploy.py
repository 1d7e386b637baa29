"""The files in deploy/: the metrics and settings that they name exist, and sums are right."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import REPOSITORY

DEPLOY = REPOSITORY / "deploy"
CHART = DEPLOY / "helm" / "nuthatch"
UNIT = DEPLOY / "systemd" / "nuthatch.service"
SETTINGS = DEPLOY / "systemd" / "server.toml"
ALERTS = CHART / "alerts.yaml"
DASHBOARD = DEPLOY / "grafana" / "nuthatch.json"

#: MiB for the program, its threads and an embedding model, in addition to what the settings bound.
REST = 256


@pytest.fixture(scope="module")
def command() -> str:
    """The built command."""
    found = shutil.which("nuthatch")
    if found is None:
        pytest.skip("needs the nuthatch command on the PATH; run through make test")
    return found


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"needs {name} on the PATH")
    return found


@pytest.fixture(scope="module")
def metrics(command: str, tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names of the series that a server has of which every part has been used, and those that it describes."""
    folder = tmp_path_factory.mktemp("served")
    with (folder / "log").open("w") as log:
        serving = subprocess.Popen(
            [
                *(command, "serve", "--data-dir", folder / "data", "--listen", "127.0.0.1:0", "--log-format", "json"),
                *("--cache-upstream", "canned", "--cache-listen", "127.0.0.1:0"),
            ],
            stderr=log,
        )
    try:
        address = until_ready(serving, folder / "log")
        ask(address, "PUT", "/v1/collections/notes", {"embedder": "none"})
        proxy = re.search(r"caching proxy at http://([^\s\"]+)", (folder / "log").read_text())
        assert proxy is not None
        question = {"model": "gpt", "messages": [{"role": "user", "content": "What is DNS?"}]}
        for _ in range(2):
            ask(proxy[1], "POST", "/v1/chat/completions", question)
        give_by_meaning(address)
        text = urllib.request.urlopen(f"http://{address}/metrics", timeout=60).read().decode()
    finally:
        serving.terminate()
        assert serving.wait(timeout=60) == 0
    series = {line.split("{")[0].split(" ")[0] for line in text.splitlines() if line and not line.startswith("#")}
    described = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    return series | described


def until_ready(serving: subprocess.Popen[bytes], log: Path) -> str:
    while '"message":"ready"' not in (said := log.read_text()):
        assert serving.poll() is None, said
        time.sleep(0.05)
    found = re.search(r'"address":"([^"]+)"', said)
    assert found is not None
    return found[1]


def ask(address: str, method: str, path: str, body: object) -> None:
    request = urllib.request.Request(
        f"http://{address}{path}", json.dumps(body).encode(), {"content-type": "application/json"}, method=method
    )
    urllib.request.urlopen(request, timeout=60).close()


def give_by_meaning(address: str) -> None:
    """An answer by meaning, without which nothing is known of the share that is wrong."""
    cache = "/v1/caches/answers"
    ask(address, "PUT", cache, {})
    ask(address, "POST", f"{cache}/configure", {"budget": 0.5, "allowance": 5})
    stored = {"prompt": "How do I reset my password?", "vector": [1, 0, 0], "response": "so"}
    ask(address, "POST", f"{cache}/store", stored)
    ask(address, "POST", f"{cache}/lookup", {"prompt": "How can I reset my password", "vector": [0.99, 0.01, 0]})


def names_in(text: str) -> set[str]:
    return set(re.findall(r"\b(?:nuthatch|gen_ai_client)_[a-z_]+", text))


def expressions() -> Iterator[str]:
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"]


def test_every_metric_of_the_alerts_and_of_the_dashboard_is_there(metrics):
    named = names_in("\n".join(expressions())) | names_in(ALERTS.read_text())
    assert len(named) > 15
    # Those about building have series only while a graph is being built; the server describes them all the same.
    source = (REPOSITORY / "crates" / "server" / "src" / "telemetry" / "engine.rs").read_text()
    building = {f"nuthatch_{name}" for name in re.findall(r'each\("(build_\w+)"', source)}
    assert named - metrics <= building, sorted(named - metrics - building)


def test_every_metric_is_on_the_dashboard(metrics):
    shown = names_in("\n".join(expressions()))
    families = {re.sub(r"_(bucket|sum|count|total)$", "", name) for name in metrics}
    assert {name for name in families if not any(one.startswith(name) for one in shown)} == set()


def test_the_dashboard_has_panels_that_do_not_overlap():
    panels = json.loads(DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels) and all(panel["title"] for panel in panels)
    cells = set()
    for panel in panels:
        at = panel["gridPos"]
        own = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not own & cells and at["x"] + at["w"] <= 24, panel["title"]
        cells |= own


def test_alerts_are_valid():
    done = subprocess.run([tool("promtool"), "check", "rules", ALERTS], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_fires_for_what_is_ill_and_none_for_what_is_well(tmp_path):
    """Two instances for an hour and a half: one with every trouble, one with none."""
    minutes = 90
    slow, quick = 'nuthatch_http_request_seconds_bucket{route="/v1/collections/{collection}/search",le=', "}"
    ill = {
        'up{job="nuthatch"}': "0x90",
        'nuthatch_http_requests_total{status="200"}': "0+100x90",
        'nuthatch_http_requests_total{status="500"}': "0+5x90",
        'nuthatch_http_requests_total{status="507"}': "0+5x90",
        "nuthatch_http_requests_refused_total": "0+1x90",
        f'{slow}"1.0"{quick}': "0+50x90",
        f'{slow}"10.0"{quick}': "0+100x90",
        f'{slow}"+Inf"{quick}': "0+100x90",
        'nuthatch_collection_degraded{collection="notes"}': "1x90",
        'nuthatch_memory_bytes{part="block_cache"}': "150x90",
        "nuthatch_memory_budget_bytes": "100x90",
        'nuthatch_disk_bytes{part="quarantine"}': "1x90",
        "nuthatch_snapshots": "1x90",
    }
    well = {
        **dict.fromkeys(ill, "0x90"),
        'up{job="nuthatch"}': "1x90",
        'nuthatch_http_requests_total{status="200"}': "0+100x90",
        **{f'{slow}"{le}"{quick}': "0+100x90" for le in ("1.0", "10.0", "+Inf")},
        'nuthatch_memory_bytes{part="block_cache"}': "90x90",
        'nuthatch_memory_bytes{part="program"}': "900x90",
        "nuthatch_memory_budget_bytes": "100x90",
    }
    alerts = re.findall(r"- alert: (\w+)", ALERTS.read_text())
    firing = [{"labels": f'{{alertname="{name}", instance="ill"}}', "value": 1} for name in alerts]
    expression = 'count by (alertname, instance) (ALERTS{alertstate="firing"})'
    of_both = (("ill", ill), ("well", well))
    test = {
        "interval": "1m",
        "input_series": [
            {"series": with_instance(series, instance), "values": values}
            for instance, found in of_both
            for series, values in found.items()
        ],
        "promql_expr_test": [{"expr": expression, "eval_time": f"{minutes}m", "exp_samples": firing}],
    }
    rules = tmp_path / "rules.yaml"
    # JSON is YAML.
    rules.write_text(json.dumps({"rule_files": [str(ALERTS)], "evaluation_interval": "1m", "tests": [test]}))
    done = subprocess.run([tool("promtool"), "test", "rules", rules], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def with_instance(series: str, instance: str) -> str:
    name, _, labels = series.partition("{")
    return f'{name}{{instance="{instance}"{"," if labels else "}"}{labels}'


def mebibytes(size: str) -> int:
    found = re.fullmatch(r"(\d+)(MiB|M)", size)
    assert found is not None, size
    return int(found[1])


def test_the_memory_limit_of_the_service_is_the_sum_of_its_settings():
    settings = dict(re.findall(r'^(\w+) = "([^"]*)"', SETTINGS.read_text(), re.MULTILINE))
    sums = sum(mebibytes(settings[name]) for name in ("memory_budget", "build_memory", "bodies_memory")) + REST
    limit = re.search(r"^MemoryMax=(\S+)", UNIT.read_text(), re.MULTILINE)
    assert limit is not None and mebibytes(limit[1]) == sums


def test_the_settings_of_the_service_are_settings(command):
    bare = {name: value for name, value in os.environ.items() if not name.startswith("NUTHATCH_")}
    done = subprocess.run(
        [command, "config", "check", "--config", SETTINGS, "--json"],
        capture_output=True,
        text=True,
        env=bare,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    # Commented-out options are suggestions: they have to be right, too.
    options = set(re.findall(r"^#? ?([a-z_]+) = ", SETTINGS.read_text(), re.MULTILINE))
    known = done.stdout
    assert options and all(f'"{name}"' in known for name in options), known


def test_the_unit_is_valid_and_gives_away_little(tmp_path):
    analyze = tool("systemd-analyze")
    unit = tmp_path / UNIT.name
    # The command need not be installed here.
    unit.write_text(UNIT.read_text().replace("/usr/local/bin/nuthatch", "/bin/true"))
    verified = subprocess.run([analyze, "verify", "--man=no", unit], capture_output=True, text=True, timeout=60)
    assert (verified.returncode, verified.stderr) == (0, "")
    scored = subprocess.run(
        [analyze, "security", "--offline=true", "--no-pager", "--threshold=15", unit],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert scored.returncode == 0, scored.stdout[-500:]


def test_the_chart_is_valid_in_every_way_that_it_can_be_set():
    helm = tool("helm")
    ways = [
        [],
        ["--set", "keys.existingSecret=own,redis.enabled=true,cpu.limit=2,storage.className=fast"],
        ["--set", "tls.existingSecret=t,serviceMonitor.enabled=true,serviceMonitor.keySecret.name=m"],
        ["--set", "prometheusRule.enabled=true,settings.NUTHATCH_SEARCH_TIMEOUT=10s"],
    ]
    for way in ways:
        linted = subprocess.run([helm, "lint", "--strict", CHART, *way], capture_output=True, text=True, timeout=60)
        assert linted.returncode == 0, linted.stdout + linted.stderr
        made = subprocess.run(
            [helm, "template", "own", CHART, "--kube-version=1.30", *way], capture_output=True, text=True, timeout=60
        )
        assert made.returncode == 0, made.stderr
        assert made.stdout.count("kind: StatefulSet") == 1 and "replicas: 1\n" in made.stdout
        assert f"memory: {256 + 512 + 128 + REST}Mi" in made.stdout
    for wrong in (
        "memory.budget=16",
        "keys.existingSecret=",
        "replicas=2",
        "settings.OTHER=1",
        "settings.NUTHATCH_SEARCH_TIMEOUTS=10s",
        "settings.NUTHATCH_LISTEN=0.0.0.0:80",
        "storage.accessMode=ReadWriteMany",
    ):
        refused = subprocess.run(
            [helm, "template", "own", CHART, "--kube-version=1.30", "--set", wrong],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert refused.returncode != 0, wrong


def test_every_value_of_the_chart_is_in_its_schema():
    properties = json.loads((CHART / "values.schema.json").read_text())["properties"]
    named = set(re.findall(r"^(\w+):", (CHART / "values.yaml").read_text(), re.MULTILINE))
    assert named | {"global"} == set(properties)


def test_variables_that_are_set_are_settings_of_the_server(command):
    known = set(
        re.findall(r"NUTHATCH_\w+", subprocess.check_output([command, "serve", "--help"], text=True, timeout=60))
    )
    for path in (CHART / "templates" / "statefulset.yaml", DEPLOY / "docker" / "Dockerfile", CHART / "values.yaml"):
        assert set(re.findall(r"NUTHATCH_[A-Z_]+", path.read_text())) <= known, path


def test_further_settings_of_the_chart_are_those_that_it_does_not_make_itself(command):
    """The schema lists them all, so that a mistyped one, or one that the chart would then say twice, is refused."""
    help_text = subprocess.check_output([command, "serve", "--help"], text=True, timeout=60)
    known = set(re.findall(r"\[env: (NUTHATCH_\w+)\]", " ".join(help_text.split())))
    own = set(re.findall(r"name: (NUTHATCH_\w+)", (CHART / "templates" / "statefulset.yaml").read_text()))
    # There is no file of settings in the pod, and it serves every tenant.
    without = {"NUTHATCH_CONFIG", "NUTHATCH_TENANT"}
    properties = json.loads((CHART / "values.schema.json").read_text())["properties"]
    assert set(properties["settings"]["propertyNames"]["enum"]) == known - own - without


def rendered(*values: str) -> str:
    """The chart, set in one way."""
    ways = [word for value in values for word in ("--set", value)]
    done = subprocess.run(
        [tool("helm"), "template", "own", CHART, "--kube-version=1.30", *ways],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_numbers_reach_the_server_as_it_reads_them(tmp_path):
    """From a file, numbers come as floating point."""
    values = tmp_path / "values.yaml"
    values.write_text("settings: {NUTHATCH_CONNECTIONS_MAX: 2000000, NUTHATCH_MAPPED: true}\n")
    done = subprocess.run(
        [tool("helm"), "template", "own", CHART, "--kube-version=1.30", "--values", values],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert 'NUTHATCH_CONNECTIONS_MAX, value: "2000000"' in done.stdout and 'MAPPED, value: "true"' in done.stdout


def test_probes_get_an_answer_with_and_without_certificates():
    assert rendered().count("scheme: HTTP}") == 3
    secured = "tls.existingSecret=t"
    assert rendered(secured).count("scheme: HTTPS}") == 3
    mutual = rendered(secured, "settings.NUTHATCH_TLS_CLIENT_CA=/tls/ca.crt")
    assert mutual.count("tcpSocket: {port: http}") == 3 and "httpGet" not in mutual


def test_the_library_that_runs_the_model_reports_nothing_to_its_maker():
    for path in (UNIT, DEPLOY / "docker" / "Dockerfile", CHART / "templates" / "statefulset.yaml"):
        assert re.search(r"ORT_DISABLE_TELEMETRY(=|, value: \")1", path.read_text()), path


def test_what_git_ignores_does_not_go_into_the_image():
    """A checkout's builds, environments and data folders are large, and some are nobody else's business."""
    left_out = (DEPLOY / "docker" / "Dockerfile.dockerignore").read_text().split()
    for folder in (".", "clients/typescript", "console"):
        path = REPOSITORY / folder / ".gitignore"
        for name in path.read_text().split():
            assert {name.strip("/"), f"**/{name.strip('/')}"} & set(left_out), name


def test_the_check_of_the_image_asks_whether_the_folder_is_open(command, tmp_path):
    """The script that Docker runs, against a server and against none."""
    script = DEPLOY / "docker" / "ready.sh"
    with (tmp_path / "log").open("w") as log:
        serving = subprocess.Popen(
            [command, "serve", "--data-dir", tmp_path / "data", "--listen", "127.0.0.1:0", "--log-format", "json"],
            stderr=log,
        )
    try:
        address = until_ready(serving, tmp_path / "log")
        environment = {**os.environ, "NUTHATCH_LISTEN": address}
        assert subprocess.run([tool("bash"), script], env=environment, timeout=60).returncode == 0
    finally:
        serving.terminate()
        serving.wait(timeout=60)
    gone = subprocess.run([tool("bash"), script], env=environment, capture_output=True, timeout=60)
    assert gone.returncode != 0
