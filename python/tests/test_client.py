"""The client, against the real server and against one that misbehaves."""

import contextlib
import http.server
import os
import pickle
import re
import subprocess
import threading

import numpy as np
import pytest
from conftest import ROOT

import evmachine
from evmachine import Client, ServerError


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """``evmachine serve --demo letters``."""
    program = os.environ.get("EVMACHINE")
    if not program:
        pytest.fail("the variable EVMACHINE must name the program; `cargo xtask python` builds it and says so")
    pool = tmp_path_factory.mktemp("served") / "pool"
    backups = tmp_path_factory.mktemp("backups")
    command = [program, "serve", str(pool), "--demo", "letters", "--listen", "127.0.0.1:0", "--backups", str(backups)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        said = []
        for line in server.stdout:
            said.append(line)
            if found := re.search(r"http://[\w.:\[\]]+", line):
                # Whatever it says later is read, so that it never waits for a reader.
                threading.Thread(target=server.stdout.read, daemon=True).start()
                yield found[0]
                break
        else:
            pytest.fail(f"the server ended: {''.join(said)}")
        server.terminate()


@pytest.fixture
def client(address):
    with Client(address, person="Ada") as client:
        yield client


@contextlib.contextmanager
def stub(answer):
    """A server that answers every request by ``answer(handler)``."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            answer(self)

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            answer(self)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def reply(handler, status, content, kind="application/json"):
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content)


def test_rows_are_decided_and_unknown_ones_wait(client, letters):
    X, _ = letters
    before = client.status()["waiting"]
    far = np.full((3, 16), 300.0, dtype=np.float32) + np.arange(3)[:, None]
    answers = client.predict(np.vstack([X[:40], far]), ids=[f"client-{row}" for row in range(43)])
    assert len(answers) == 43
    assert all(answer.label == (answer.best if answer.known else None) for answer in answers)
    assert [answer.known for answer in answers[40:]] == [False] * 3
    assert client.status()["waiting"] >= before + 3
    found = client.sample(answers[40].sample)
    assert found["id"] == "client-40" and found["features"] == [300.0] * 16


def test_the_same_by_array_and_by_list(client, letters):
    X, _ = letters
    by_array = client.predict(X[:1500], keep="none")
    by_list = client.predict(X[:5].tolist(), texts=["a"] * 5, keep="none")
    assert len(by_array) == 1500
    for one, other in zip(by_array, by_list, strict=False):
        assert (one.label, one.sample) == (other.label, None)
        assert one.psi == pytest.approx(other.psi) and one.support == pytest.approx(other.support)
        assert one.p_value == other.p_value and (one.support >= 0) == one.known
    assert [one.decision for one in by_array] == sorted(one.decision for one in by_array)


def test_groups_are_answered_undone_and_learned(client):
    first, second = client.suggest(2)
    assert first.sample in first.group and first.neighbors[0].distance > 0
    with pytest.raises(ServerError) as refused:
        client.label(first, "a")
    assert refused.value.status == 409 and refused.value.problem["known"] == ["A"]
    event = client.label(first, "Zeta", strike=first.group[-1:])
    assert client.status()["labelled"]["Zeta"] == len(first.group) - 1
    with pytest.raises(ServerError, match="were answered meanwhile") as late:
        client.ignore(first)
    assert late.value.status == 409 and late.value.problem["answered"][0]["label"] == "Zeta"
    with pytest.raises(ValueError, match="is not in group"):
        client.ignore(first, strike=second.group[:1])
    client.undo(client.undo(event))
    assert client.sample(first.group[0])["label"] == "Zeta"
    client.undo(client.label(first.group[:1], "Zeta", replace=True))
    assert client.events(1)[0]["person"] == "Ada"
    client.ignore(second)
    client.unlabel(second.group)
    live = client.status()["live"]
    learned = client.update(timeout=120)
    assert learned.version != live and learned.version == client.status()["live"]
    assert "Zeta" in [known["name"] for known in client.status()["classes"]]
    assert client.compare(live, learned.version)["rows"] > 0
    client.rollback()
    assert client.status()["live"] == live
    client.promote(learned.version)
    assert [version["hash"] for version in client.versions() if version["live"]] == [learned.version]


def test_groups_are_split_merged_and_skipped(client):
    group = client.suggest(1)[0]
    parts = client.split(group, group.radius / 2)
    assert group.number in parts
    sizes = [len(client.group(part).group) for part in parts]
    assert sum(sizes) == len(group.group)
    merged = client.merge(parts)
    assert sorted(client.group(merged).group) == sorted(group.group)
    client.skip(merged)
    assert client.suggest(1)[0].number != merged
    client.discard(client.group(merged))
    with pytest.raises(ServerError):
        client.group(10**9)


def test_explanations_and_rows_set_aside(client, letters):
    known = next(one for one in client.predict(letters[0][:100], keep="none") if one.known)
    found = client.explain(decision=known.decision)
    assert found["class"] == known.label and found["because"]["class"] == known.label
    assert client.explain(letters[0][0])["known"] in (True, False)
    live = client.status()["live"]
    client.set_aside(decision=known.decision)
    assert client.status()["live"] != live
    client.restore_row(found["because"]["row"]["source"])
    with pytest.raises(ValueError, match="one of decision and source"):
        client.set_aside()
    with pytest.raises(ValueError, match="one of x, decision and sample"):
        client.explain(decision=1, sample=1)


def test_the_model_can_be_had_and_the_pool_copied(client, letters, tmp_path):
    client.export(tmp_path / "live.safetensors")
    machine = evmachine.ExtremeValueMachine.load(tmp_path / "live.safetensors")
    mine = machine.predict(letters[0][:50])
    theirs = [answer.label or "unknown" for answer in client.predict(letters[0][:50], keep="none")]
    assert mine.tolist() == theirs
    client.backup("before")
    with pytest.raises(ServerError):
        client.backup("before")


def test_all_samples_of_a_state(client):
    waiting = list(client.samples(count=50))
    assert len(waiting) == client.status()["waiting"] == len({one["number"] for one in waiting})


def test_samples_are_found_by_what_is_known_of_them(client):
    named = list(client.samples(None, id="client-4", text="of a"))
    assert all("client-4" in one["id"] and "of a" in one["text"] for one in named)
    unknown = list(client.samples(known=False, most_support=-0.5, count=100))
    assert unknown and all(not one["known"] and one["support"] <= -0.5 for one in unknown)
    best = unknown[0]["best"]
    found = [(one["best"], one["class"]) for one in client.samples(best=best, known=False)]
    assert found and set(found) == {(best, None)}


def test_a_sample_is_looked_at_closely(client):
    number = client.suggest(1)[0].sample
    near = client.neighbors(number, 3)
    assert [row["distance"] for row in near] == sorted(row["distance"] for row in near) and len(near) == 3
    assert client.history(number)["events"] == []
    client.note(number, "two meanings?")
    assert client.history(number)["notes"][0]["person"] == "Ada"


def test_classes_are_corrected_and_corrections_undone(client):
    live = client.status()["live"]
    names = [known["name"] for known in client.classes()]
    rows = client.class_rows("A", 500)
    assert rows and all(row["class"] == "A" for row in rows)
    for change in (
        lambda: client.rename_class("A", "Alpha"),
        lambda: client.merge_classes("A", "B"),
        lambda: client.move_rows([row["source"] for row in rows[:3]], "half of A", new_class=True),
        lambda: client.remove_class("A"),
    ):
        done = change()
        assert client.status()["live"] == done["version"] != live
        assert [known["name"] for known in client.classes()] != names
        client.undo(done["event"])
        assert client.status()["live"] == live


def test_second_opinions(client, address):
    number = client.suggest(1)[0].sample
    client.label(number, "A")
    client.ask_opinion(number)
    with Client(address, person="Boris") as boris:
        assert number in [one["number"] for one in boris.opinions_wanted()]
        boris.give_opinion(number, None)
    found = client.disagreements()
    assert [(one["sample"]["number"], one["opinion"]) for one in found["disagreements"]] == [(number, None)]
    assert found["agreement"] == [{"class": "A", "opinions": 1, "agreed": 0}]
    client.ignore(number, replace=True)
    assert client.disagreements()["disagreements"] == []
    assert "Ada" in [person["name"] for person in client.people()]


def test_what_is_recognised_is_accepted(client):
    for name, samples in client.recognised().items():
        client.label(samples, name)
    assert client.recognised() == {}


def test_health_and_decisions(client):
    assert set(client.health()) >= {"closest_stranger", "closest_pair", "unknown_rate"}
    newest = client.decisions(2)
    assert newest[0]["decision"] > newest[1]["decision"]


def test_the_example_of_the_readme_runs(address, letters):
    blocks = re.findall(r"```py\n(.*?)```", (ROOT / "python/README.md").read_text(), flags=re.DOTALL)
    (code,) = (block for block in blocks if "Client(" in block)
    code = code.replace("http://127.0.0.1:8080", address).replace("[3, 4]", "group.group[-1:]")
    exec(code, {"X": letters[0][:5], "names": list("abcde")})


def test_threads_share_a_client(client, letters):
    found = {}

    def ask(row):
        found[row] = client.predict(letters[0][row : row + 1], keep="none")[0].best

    threads = [threading.Thread(target=ask, args=(row,)) for row in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[row] for row in range(8)] == [one.best for one in client.predict(letters[0][:8], keep="none")]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0, 1e39]], r"row 0, column 1 of X is 1e\+39, which is no float32"),
        ([1.0, 2.0], "two dimensions"),
        ([["a"]], "must be numbers"),
    ],
)
def test_bad_rows_never_leave(X, message):
    with pytest.raises(ValueError, match=message):
        Client("http://127.0.0.1:1").predict(X)


def test_missing_values_are_the_models_to_judge(client, letters):
    rows = letters[0][:2].copy()
    rows[1, 3] = np.nan
    for more in ({}, {"texts": ["a", "b"]}):
        with pytest.raises(ServerError, match="row") as refused:
            client.predict(rows, **more)
        assert refused.value.status in (400, 422)


def test_details_are_as_many_as_rows():
    with pytest.raises(ValueError, match="1 ids for 2 rows"):
        Client("http://127.0.0.1:1").predict([[1.0], [2.0]], ids=["a"])
    with pytest.raises(ValueError, match="only members of a group"):
        Client("http://127.0.0.1:1").ignore([1, 2], strike=[2])


@pytest.mark.parametrize("url", ["127.0.0.1:8080", "ftp://a", "http://", "http://key@host", "http://host/?a=1"])
def test_addresses_are_checked(url):
    with pytest.raises(ValueError, match=re.escape(repr(url))):
        Client(url)


def test_keys_are_checked_and_sent():
    with pytest.raises(ValueError, match="printable"):
        Client(key="a\nb")
    seen = []
    with stub(lambda handler: (seen.append(handler.headers["Authorization"]), reply(handler, 200, b"{}"))) as url:
        assert Client(url, key="secret").status() == {}
    assert seen == ["Bearer secret"]
    assert "secret" not in repr(Client(url, key="secret"))


def test_nobody_there():
    with pytest.raises(ConnectionError, match="http://127.0.0.1:1 does not answer"):
        Client("http://127.0.0.1:1").status()


def test_problems_are_errors_whatever_they_hold():
    with (
        stub(lambda handler: reply(handler, 502, b"<h1>Bad gateway</h1>", "text/html")) as url,
        pytest.raises(ServerError, match="Bad gateway") as found,
    ):
        Client(url).status()
    assert found.value.status == 502
    again = pickle.loads(pickle.dumps(found.value))
    assert (again.status, again.detail) == (502, found.value.detail)


def test_something_else_than_a_server_is_said():
    with (
        stub(lambda handler: reply(handler, 200, b"<html>", "text/html")) as url,
        pytest.raises(ConnectionError, match="no evmachine server"),
    ):
        Client(url).status()


def test_a_connection_that_was_closed_is_opened_anew():
    answered = []

    def once(handler):
        answered.append(1)
        if len(answered) == 2:
            handler.close_connection = True
            return
        reply(handler, 200, b"{}")

    with stub(once) as url:
        client = Client(url)
        client.status()
        with pytest.raises(ConnectionError):
            client.skip(1)
        assert client.status() == {}
    # What may have been done is not done twice.
    assert len(answered) == 3


def test_labels_are_written_as_model_files_have_them():
    bodies = []

    class Reader(Client):
        def _ask(self, path, **body):
            bodies.append(body)
            return {"event": 1}

    client = Reader()
    for label in (np.int64(3), 3.0, True, "3"):
        client.label([1], label)
    assert [body["label"] for body in bodies] == ["3", "3", "true", "3"]
