"""The checks of ci/report-check, each with the one thing that it needs: without it, it is skipped."""

import contextlib
import importlib.util
import io
import json
import os
import pathlib
import re
import shutil
import sys

REPORT, TOOLS = map(pathlib.Path, sys.argv[1:3])
ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = REPORT / "report.html"
LIMIT_BYTES = 5_000_000
LIMIT_MS = 2_000

checks = []


class Missing(Exception):
    """What a check needs and does not have."""


def check(function):
    checks.append(function)
    return function


def need(module):
    if importlib.util.find_spec(module) is None:
        raise Missing(f"the Python module {module}")


def need_file(path, what):
    if not path or not pathlib.Path(path).is_file():
        raise Missing(what)
    return pathlib.Path(path)


def data():
    return json.loads((REPORT / "report.json").read_text())


def cases(report):
    return len(report["scenarios"]) + len(report["rules"]) + len(report["claims"])


# --- the forms for machines -------------------------------------------------------------------------


@check
def report_json_validates_against_its_schema():
    need("jsonschema")
    import jsonschema

    schema = json.loads((ROOT / "report/schema/report-1.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    errors = [error.message for error in validator.iter_errors(data())]
    assert not errors, errors[:3]
    spoilt = data()
    spoilt["scenarios"][0]["ended"] = "perhaps"
    assert not validator.is_valid(spoilt)


@check
def junit_xml_validates_against_jenkins_schema():
    need("lxml")
    xsd = need_file(TOOLS / "junit-10.xsd", "junit-10.xsd")
    from lxml import etree

    schema = etree.XMLSchema(etree.parse(str(xsd)))
    tree = etree.parse(str(REPORT / "junit.xml"))
    schema.assertValid(tree)
    assert len(tree.findall(".//testcase")) == cases(data())
    tree.getroot().set("mood", "fine")
    assert not schema.validate(tree)


@check
def ktap_parses_line_by_line_with_tap_py():
    need("tap")
    from tap.parser import Parser

    lines = (REPORT / "results.ktap").read_text().splitlines()
    assert lines[0] == "KTAP version 1"
    subtests, outer = [], []
    for line in lines:
        if line == "  KTAP version 1":
            subtests.append([])
        elif line.startswith("  "):
            subtests[-1].append(line[2:])
        else:
            outer.append(line)
    results = 0
    for text in [outer[1:], *subtests]:
        # It tells everybody about a module for YAML, which KTAP does not have.
        with contextlib.redirect_stdout(io.StringIO()):
            parsed = list(Parser().parse_text("\n".join(["TAP version 13", *text])))
        assert not [str(line) for line in parsed if line.category == "unknown"]
        tests = [line for line in parsed if line.category == "test"]
        (plan,) = [line for line in parsed if line.category == "plan"]
        assert [test.number for test in tests] == list(range(1, plan.expected_tests + 1))
        results += len(tests)
    assert results == cases(data()) + len(subtests)


@check
def ktap_parses_with_kunits_own_parser():
    folder = os.environ.get("TRAPLINE_KUNIT", "")
    what = "Linux' kunit_parser.py: set TRAPLINE_KUNIT to tools/testing/kunit of its sources"
    need_file(folder and pathlib.Path(folder) / "kunit_parser.py", what)
    sys.path.insert(0, folder)
    said = io.StringIO()
    # It takes its standard output when it is imported.
    with contextlib.redirect_stdout(said):
        import kunit_parser

        test = kunit_parser.parse_run_tests((REPORT / "results.ktap").read_text().splitlines())
    assert "[ERROR]" not in said.getvalue(), said.getvalue()[-500:]
    assert test.counts.total() == cases(data()), test.counts


@check
def kcidb_json_validates_with_kcidb_io():
    need("kcidb_io")
    import kcidb_io

    submission = json.loads((REPORT / "kcidb.json").read_text())
    kcidb_io.schema.LATEST.validate(submission)
    assert len(submission["tests"]) == len(data()["scenarios"])
    submission["tests"][0]["status"] = "FINE"
    assert not kcidb_io.schema.LATEST.is_compatible(submission) or not valid(submission)


def valid(submission):
    import jsonschema
    import kcidb_io

    try:
        kcidb_io.schema.LATEST.validate(submission)
    except jsonschema.exceptions.ValidationError:
        return False
    return True


# --- traces ----------------------------------------------------------------------------------------


def traced():
    """Exits by vCPU, and how many IPIs were taken, as trapline printed them."""
    said = (REPORT.parent / "traced").read_text()
    found = re.findall(r"^vCPU (\d+): (\d+) exits, .*; (\d+) IPIs taken", said, re.MULTILINE)
    assert len(found) == 2, said
    return {int(v): int(exits) for v, exits, _ in found}, sum(int(ipis) for *_, ipis in found)


def trace(extension):
    return REPORT.parent / "traces" / f"ipi.x2apic-hlt.{extension}"


@check
def a_perfetto_trace_is_read_by_perfettos_own_messages():
    need("perfetto")
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

    read = Trace()
    read.ParseFromString(trace("perfetto-trace").read_bytes())
    tracks = [p.track_descriptor for p in read.packet if p.HasField("track_descriptor")]
    names = {track.uuid: track.name for track in tracks}
    events = [p for p in read.packet if p.HasField("track_event")]
    times = [p.timestamp for p in events]
    assert times == sorted(times)
    exits, depth = {}, {}
    for event in (p.track_event for p in events):
        name = names[event.track_uuid]
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            depth[name] = depth.get(name, 0) + 1
            exits[name] = exits.get(name, 0) + ("exit" in event.categories)
        elif event.type == TrackEvent.TYPE_SLICE_END:
            depth[name] -= 1
        # Slices of one vCPU follow each other.
        assert depth.get(name, 0) in (0, 1), name
    counted, taken = traced()
    assert exits == {f"vCPU {vcpu}": count for vcpu, count in counted.items()}, exits
    started = [f for p in events for f in p.track_event.flow_ids]
    ended = [f for p in events for f in p.track_event.terminating_flow_ids]
    assert sorted(started) == sorted(ended) and len(ended) == taken, (len(ended), taken)


@check
def a_json_trace_and_its_ftrace_text_have_the_same_exits():
    counted, taken = traced()
    events = json.loads(trace("json").read_text())["traceEvents"]
    slices = [e for e in events if e["ph"] == "X" and e["cat"] == "exit"]
    text = trace("ftrace.txt").read_text()
    for vcpu, count in counted.items():
        assert sum(e["tid"] == vcpu + 1 for e in slices) == count, vcpu
        assert len(re.findall(rf": kvm_exit: vcpu {vcpu} ", text)) == count, vcpu
    assert [sum(e["ph"] == ph for e in events) for ph in "sf"] == [taken, taken]


# --- the page --------------------------------------------------------------------------------------


class Browser:
    """A page in Chromium, which notes what it complains about and what it asks for."""

    def __init__(self, width=1280, scheme="light", script=True):
        need("playwright")
        chromium = need_file(shutil.which("chromium"), "chromium")
        from playwright.sync_api import sync_playwright

        self.play = sync_playwright().start()
        self.browser = self.play.chromium.launch(executable_path=str(chromium), args=["--no-sandbox"])
        size = {"width": width, "height": 900}
        self.context = self.browser.new_context(
            viewport=size, color_scheme=scheme, java_script_enabled=script
        )
        self.page = self.context.new_page()
        self.complaints, self.requests = [], []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def __enter__(self):
        self.page.goto(PAGE.as_uri())
        return self

    def __exit__(self, kind, *_):
        self.browser.close()
        self.play.stop()
        if kind is None:
            assert not self.complaints, self.complaints
            others = [url for url in self.requests if not url.startswith(PAGE.as_uri())]
            assert not others, others


def rows(page, table):
    return page.locator(f'table[data-table="{table}"] > tbody > tr:visible')


@check
def the_page_is_small_and_fast():
    assert PAGE.stat().st_size < LIMIT_BYTES, PAGE.stat().st_size
    with Browser() as browser:
        entry = "performance.getEntriesByType('navigation')[0].loadEventEnd"
        browser.page.wait_for_function(f"{entry} > 0")
        ms = browser.page.evaluate(entry)
        assert ms < LIMIT_MS, ms


@check
def a_table_is_filtered_and_sorted():
    with Browser() as browser:
        page = browser.page
        tools = page.get_by_role("group", name="Filter: All scenarios")
        everything = rows(page, "All scenarios").count()
        assert everything == len(data()["scenarios"])
        tools.get_by_role("searchbox").fill("report-check")
        assert rows(page, "All scenarios").count() == 2
        assert tools.get_by_role("status").inner_text() == f"2 of {everything}"
        tools.get_by_role("searchbox").fill("")
        tools.get_by_label("Verdict").select_option(label="✗ fail")
        assert rows(page, "All scenarios").count() >= 2
        tools.get_by_label("Verdict").select_option(label="all")
        head = page.locator('table[data-table="All scenarios"] thead th', has_text="Exits")
        column = 'table[data-table="All scenarios"] > tbody > tr > :nth-child(5)'
        for order, reverse in [("ascending", False), ("descending", True)]:
            head.get_by_role("button").click()
            assert head.get_attribute("aria-sort") == order
            texts = page.locator(column).all_inner_texts()
            numbers = [int(text.replace("\u202f", "")) for text in texts]
            assert numbers == sorted(numbers, reverse=reverse) and len(set(numbers)) > 5


@check
def a_rule_opens_and_leads_to_its_evidence():
    report = data()
    names = {f"{s['suite']}::{s['name']}" for s in report["scenarios"]}
    rule, evidence = next(
        (rule["id"], e["scenario"])
        for rule in report["rules"]
        for e in rule["scenarios"]
        if e["scenario"] in names and e["ended"] == "pass"
    )
    with Browser() as browser:
        page = browser.page
        row = page.locator(f"#r-{rule}")
        link = row.get_by_role("link", name=evidence, exact=True)
        assert not link.is_visible()
        row.locator("summary").click()
        link.click()
        details = page.locator(f"#s-{evidence.replace('::', '--')}")
        assert details.is_visible() and "Policy" in details.inner_text()
        box = details.bounding_box()
        assert 0 <= box["y"] < 900, box
        # And back, to a row that a filter hides.
        page.get_by_role("group", name="Filter: All rules").get_by_role("searchbox").fill("no such")
        assert not row.is_visible()
        details.get_by_role("link", name=rule).first.click()
        page.wait_for_function("location.hash.startsWith('#r-')")
        assert page.locator("tr:target").is_visible()


@check
def failures_show_differences_and_last_exits():
    with Browser() as browser:
        text = browser.page.locator("#failures").inner_text()
        for part in ["report-check::wrong-count", "expected 0", "seen 10", "Last exits", "RIP"]:
            assert part in text, part
        assert "<b>bold</b>" in browser.page.locator("#s-report-check--wrong-count").text_content()


@check
def everything_can_be_read_without_script():
    with Browser(script=False) as browser:
        page = browser.page
        assert page.locator(".tools, button, input, select").count() == 0
        assert rows(page, "All rules").count() == len(data()["rules"])
        summary = page.locator("#rules td details summary").first
        summary.click()
        assert page.locator("#rules td details[open]").first.get_by_text("Source").is_visible()
        # A link into closed details opens them.
        page.locator('table[data-table="All scenarios"] a').first.click()
        assert page.locator(":target").is_visible()


@check
def it_fits_a_phone():
    for scheme in ["light", "dark"]:
        with Browser(width=390, scheme=scheme) as browser:
            width = browser.page.evaluate("document.documentElement.scrollWidth")
            assert width <= 390, width
            paper = "getComputedStyle(document.body).backgroundColor"
            red = int(browser.page.evaluate(paper).split("(")[1].split(",")[0])
            assert (red < 60) == (scheme == "dark"), red


@check
def it_prints():
    with Browser() as browser:
        pdf = browser.page.pdf(format="A4")
        assert pdf.startswith(b"%PDF") and len(pdf) > 50_000, len(pdf)
        browser.page.emulate_media(media="print")
        assert not browser.page.locator(".toc").is_visible()
        assert browser.page.locator("#verdict .word").is_visible()


@check
def axe_finds_nothing_serious():
    need("axe_playwright_python")
    from axe_playwright_python.sync_playwright import Axe

    for width, scheme in [(1280, "light"), (1280, "dark"), (390, "light")]:
        with Browser(width=width, scheme=scheme) as browser:
            # What is closed is not seen: open one of each kind, and all that failed.
            browser.page.evaluate(
                "for (const d of document.querySelectorAll("
                "'#failures details, #claims tr:nth-child(-n+3) details, #environment details,"
                " #rules tr:nth-child(-n+3) details, #silicon tr:nth-child(1) details,"
                " #scenarios .suite:nth-of-type(-n+2), #scenarios .suite:nth-of-type(-n+2) details'"
                ")) d.open = true"
            )
            response = Axe().run(browser.page).response
            looked = {rule["id"] for rule in response["passes"]}
            assert {"color-contrast", "svg-img-alt", "td-headers-attr"} & looked, looked
            serious = [v for v in response["violations"] if v["impact"] in ("serious", "critical")]
            named = [(v["id"], v["nodes"][0]["html"][:200], len(v["nodes"])) for v in serious]
            assert not named, (width, scheme, named)


def main():
    passed, skipped, failed = 0, [], []
    for function in checks:
        name = function.__name__.replace("_", " ")
        try:
            function()
        except Missing as missing:
            skipped.append(name)
            print(f"SKIPPED  {name}: it needs {missing}", file=sys.stderr)
        except Exception as error:  # One that fails must not keep the others from running.
            failed.append(name)
            print(f"FAILED   {name}: {type(error).__name__}: {error}", file=sys.stderr)
        else:
            passed += 1
            print(f"ok       {name}", file=sys.stderr)
    print(f"ci/report-check: {passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed else 0


sys.exit(main())
