"""The door that a process opens by itself."""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attachable import ASLEEP, running
from gradlife.attach import client, server
from gradlife.attach.client import attach, connect
from gradlife.attach.processes import Target
from gradlife.attach.protocol import AttachError, Channel, folder_for_sockets, socket_path
from gradlife.attach.server import Server, serve
from gradlife.errors import UsageError
from gradlife.heap import open_snapshot
from gradlife.model.watching.look import Look
from gradlife.program.hunt.running import Terms
from processes import HANGS, comes_true

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peers are known on Linux")


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Server]:
    made = serve(tmp_path / "door")
    yield made
    made.close()


def test_the_socket_is_for_this_user_alone_and_gone_when_it_is_closed(tmp_path: Path) -> None:
    made = serve(tmp_path / "door")
    assert stat.S_IMODE(os.stat(made.path).st_mode) == 0o600
    made.close()
    assert not os.path.exists(made.path)


def test_a_process_has_one_door_at_a_place(door: Server) -> None:
    assert serve(door.path) is door


def test_a_socket_that_a_process_left_behind_is_replaced(tmp_path: Path) -> None:
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(tmp_path / "door"))
    left.close()
    serve(tmp_path / "door").close()


def test_a_socket_at_which_somebody_listens_is_not_replaced(tmp_path: Path, door: Server) -> None:
    with pytest.raises(UsageError, match="cannot open a socket"):
        Server(door.path)
    assert os.path.exists(door.path)


def test_a_folder_that_others_can_enter_is_no_place_for_a_door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gradlife").mkdir()
    (tmp_path / "gradlife").chmod(0o755)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with pytest.raises(UsageError, match="is open to other users"):
        serve()


def test_nobody_at_a_socket_is_a_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing answers at"):
        connect(str(tmp_path / "nothing"))


def test_another_users_request_is_not_answered(door: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "peer_of", lambda connection: (1, 4242))
    with pytest.raises(AttachError, match="closed the connection"):
        connect(door.path)


def test_what_this_gradlife_does_not_do_is_refused_and_the_session_goes_on(door: Server, tmp_path: Path) -> None:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(door.path)
    channel = Channel(connection)
    assert (channel.receive() or {})["pid"] == os.getpid()
    for _ in range(2):
        channel.send(do="juggle")
        answer = channel.receive() or {}
        assert answer["error"] == "this gradlife has no request 'juggle'"
        assert answer["is_usage"]
    channel.close()


def test_a_client_that_goes_leaves_no_thread_and_no_descriptor(door: Server) -> None:
    with connect(door.path):
        pass
    with door._is_free:  # the client has been served to its end
        pass
    gc.collect()  # what tests before this one left open in cycles
    descriptors, threads = (len(os.listdir(f"/proc/self/{kind}")) for kind in ("fd", "task"))
    for _ in range(20):
        with connect(door.path):
            pass
    assert comes_true(lambda: len(os.listdir("/proc/self/task")) <= threads)
    assert comes_true(lambda: len(os.listdir("/proc/self/fd")) <= descriptors)


def test_a_second_client_is_refused_while_the_first_is_served(door: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """It waited for ever."""
    monkeypatch.setattr(server, "PATIENCE", 0.0)
    with connect(door.path):
        with pytest.raises(AttachError) as caught:
            connect(door.path)
        assert str(caught.value) == (
            "gradlife is attached to this process already (try: again when the other client has gone)"
        )
    monkeypatch.setattr(server, "PATIENCE", HANGS)
    with connect(door.path) as session:
        assert session.pid == os.getpid()


def test_a_client_that_goes_does_not_end_a_program_that_sigpipe_ends(tmp_path: Path) -> None:
    """Python ignores the signal; many programs set it back to the default."""
    source = "import gradlife, signal\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)\ngradlife.serve('door')\n"
    with running(source + ASLEEP, tmp_path) as pid, socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(tmp_path / "door"))
        channel = Channel(connection)
        channel.receive()
        connection.shutdown(socket.SHUT_RD)
        channel.send(do="juggle")
        with connect(str(tmp_path / "door")) as session:
            assert session.pid == pid


def test_a_default_timeout_of_the_program_closes_neither_door_nor_connection(tmp_path: Path) -> None:
    socket.setdefaulttimeout(10.0)
    try:
        made = Server(str(tmp_path / "door"))
        one, other = socket.socketpair()
    finally:
        socket.setdefaulttimeout(None)
    channels = [Channel(one), Channel(other)]
    assert [made._socket.gettimeout(), one.gettimeout(), other.gettimeout()] == [None, None, None]
    for channel in channels:
        channel.close()
    made.close()


def test_a_server_that_could_not_accept_tries_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failures = [OSError(errno.EMFILE, "too many open files"), OSError(errno.ECONNABORTED, "aborted"), TimeoutError()]

    class Socket(socket.socket):
        def accept(self) -> tuple[socket.socket, Any]:
            if failures:
                raise failures.pop()
            return super().accept()

    monkeypatch.setattr(server, "RETRY", 0.0)
    monkeypatch.setattr(socket, "socket", Socket)
    made = Server(str(tmp_path / "door"))
    monkeypatch.undo()
    with connect(made.path) as session:
        assert session.pid == os.getpid()
    made.close()
    made._thread.join(HANGS)
    assert not made._thread.is_alive()


def test_a_forked_child_keeps_neither_door_nor_connection(door: Server) -> None:
    """The client waited for the end of the child."""
    assert comes_true(lambda: not server._served)  # clients of the tests before have been served to their ends
    gc.collect()
    with connect(door.path):
        child = os.fork()
        if not child:
            kept = [os.readlink(f"/proc/self/fd/{one}") for one in held_sockets()]
            os._exit(len(kept))
        _, status = os.waitpid(child, 0)
        others = len(held_sockets()) - 3  # without the door, and both ends of the connection
    assert os.waitstatus_to_exitcode(status) == others + 1  # the client's end


def held_sockets() -> list[str]:
    """The descriptors of Unix sockets of this process."""
    found = []
    for one in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found += [one] if os.readlink(f"/proc/self/fd/{one}").startswith("socket:") else []
    return found


def test_a_client_sees_the_end_of_a_process_although_its_child_holds_the_connection(tmp_path: Path) -> None:
    """A child that C code forks closes nothing."""
    source = """\
import ctypes, gradlife, os, time
def never(): pass
gradlife.serve("door")
print("ready", flush=True)
while not os.path.exists("connected"):
    time.sleep(0.01)
child = ctypes.CDLL(None).fork()
if child:
    open("child", "w").write(str(child))
    os._exit(0)
os.close(1)
ctypes.CDLL(None).pause()
"""
    with running(source, tmp_path), connect(str(tmp_path / "door")) as session:
        (tmp_path / "connected").touch()
        with pytest.raises(AttachError, match="has ended or closed the connection"):
            session.hunt(Terms(step_on="__main__:never"), "gradlife attach 1", lambda progress: None)
    os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)


def test_a_long_temporary_folder_leaves_the_socket_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    assert folder_for_sockets() is None
    monkeypatch.setattr(tempfile, "tempdir", "/scratch/" + 60 * "x")
    assert folder_for_sockets() == "/tmp"


def test_a_process_that_says_nothing_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "PATIENCE", 0.0)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "door"))
        silent.listen(1)
        with pytest.raises(
            AttachError, match="did not answer in 0 seconds: it is stopped, or another client is served"
        ):
            connect(str(tmp_path / "door"))


def test_a_door_is_found_although_the_process_has_another_runtime_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service of systemd has none, and the one who attaches has one."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with running(f"import gradlife\n{ASLEEP}", tmp_path, GRADLIFE_SERVE="1", XDG_RUNTIME_DIR="") as pid:
        assert not os.path.exists(socket_path(pid))
        with attach(pid) as session:
            assert session.pid == pid


def test_the_sockets_of_processes_that_were_killed_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    folder = tmp_path / "gradlife"
    folder.mkdir(mode=0o700)
    doors = [Server(str(folder / "999999998.sock")), Server(str(folder / "kept.sock"))]
    for name in ("999999999.sock", "1.sock", "notes.txt"):
        (folder / name).touch()
    serve().close()
    assert sorted(os.listdir(folder)) == ["1.sock", "999999998.sock", "kept.sock", "notes.txt"]
    for door in doors:
        door.close()


def test_another_process_at_the_door_of_the_target_is_nobody(door: Server) -> None:
    """In a folder for all users anybody may listen."""
    with pytest.raises(UsageError, match="another process listens at"):
        connect(door.path, Target(os.getpid() + 1, "python", "3.11", sys.executable))


def test_a_snapshot_is_written_by_a_copy_of_the_process(tmp_path: Path) -> None:
    with (
        running(f"import gradlife\ngradlife.serve('door')\n{ASLEEP}", tmp_path),
        connect(str(tmp_path / "door")) as session,
    ):
        taking = session.snapshot(tmp_path / "heap.glheap")
        assert open_snapshot(tmp_path / "heap.glheap").objects == taking["objects"]
        assert taking["pause_seconds"] > 0
        assert session.stopped_seconds == 0


def test_a_snapshot_that_cannot_be_written_is_an_error_and_the_process_lives(tmp_path: Path) -> None:
    with (
        running(f"import gradlife\ngradlife.serve('door')\n{ASLEEP}", tmp_path),
        connect(str(tmp_path / "door")) as session,
    ):
        with pytest.raises(AttachError) as caught:
            session.snapshot(tmp_path / "missing" / "heap.glheap")
        assert str(caught.value) == (
            f"the forked copy could not write the snapshot: cannot write {tmp_path / 'missing' / 'heap.glheap'}: "
            "no such file or directory (try: a folder that the process may write to)"
        )
        assert session.snapshot(tmp_path / "heap.glheap")["objects"] > 0


def test_the_environment_opens_a_door_that_attach_finds_by_the_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with running(f"import gradlife\n{ASLEEP}", tmp_path, GRADLIFE_SERVE="1") as pid:
        assert os.path.exists(socket_path(pid))
        with attach(pid) as session:
            assert session.pid == pid
            assert session.stopped_seconds == 0


def test_a_door_that_a_dead_process_of_the_same_number_left_does_not_keep_the_debugger_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def inject(*arguments: object) -> float:
        raise AttachError("the debugger was asked")

    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(client, "runs_on_request", lambda target: False)
    monkeypatch.setattr(client, "inject", inject)
    with running(ASLEEP, tmp_path) as pid:
        os.mkdir(tmp_path / "gradlife")
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(socket_path(pid))
        with pytest.raises(AttachError, match="the debugger was asked"):
            attach(pid)


def test_the_door_is_closed_at_the_end_of_the_program(tmp_path: Path) -> None:
    source = "import gradlife, os\ngradlife.serve('door')\nassert os.path.exists('door')\n"
    subprocess.run([sys.executable, "-c", source], cwd=tmp_path, check=True)
    assert not (tmp_path / "door").exists()


def test_a_forked_child_leaves_its_parents_door_alone(tmp_path: Path) -> None:
    source = "import gradlife, os\ngradlife.serve('door')\npid = os.fork()\nif not pid:\n    raise SystemExit\n"
    source += "os.waitpid(pid, 0)\nassert os.path.exists('door')\n"
    subprocess.run([sys.executable, "-W", "ignore", "-c", source], cwd=tmp_path, check=True)


def test_a_function_that_is_not_loaded_is_a_usage_error_of_the_client(door: Server) -> None:
    with connect(door.path) as session, pytest.raises(UsageError) as caught:
        session.hunt(Terms(step_on="no.such:step"), "gradlife attach 1", lambda progress: None)
    assert str(caught.value) == "the process has not loaded no.such (try: --step-on module:function)"


@pytest.mark.whole
def test_a_process_is_followed_until_it_is_let_go(door: Server) -> None:
    """It tells what is alive at once, and goes on when the one who watches has gone."""
    looks: list[Look] = []

    def look(found: Look) -> None:
        looks.append(found)
        raise KeyboardInterrupt

    with connect(door.path) as session, pytest.raises(KeyboardInterrupt):
        session.follow(Terms(), 60.0, "gradlife attach 1", progress=str, look=look, report=str)
    assert looks[0].live.objects > 1000
    assert looks[0].resident_bytes > 1 << 20
    assert len(looks[0].owners) == 10
    with connect(door.path) as session:
        assert session.pid == os.getpid()


def test_a_file_of_the_user_is_no_place_for_a_door_and_stays(tmp_path: Path) -> None:
    """`gradlife.serve("model.pt")` deleted the file."""
    file = tmp_path / "model.pt"
    file.write_text("weights", encoding="utf-8")
    with pytest.raises(UsageError, match=r"model\.pt exists and is no socket"):
        serve(file)
    assert file.read_text(encoding="utf-8") == "weights"


def test_a_door_is_closed_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = serve("door")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    other = serve("door")
    assert (tmp_path / "elsewhere" / "door").exists()
    made.close()
    other.close()
    assert [(tmp_path / "door").exists(), (tmp_path / "elsewhere" / "door").exists()] == [False, False]


def test_who_does_not_speak_the_protocol_is_one_line(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "door"))
        listener.listen(1)

        def greet() -> None:
            other, _ = listener.accept()
            other.sendall(b"HTTP/1.1 400 Bad Request\n")
            other.close()

        thread = threading.Thread(target=greet)
        thread.start()
        with pytest.raises(AttachError, match="does not speak gradlife's protocol"):
            connect(str(tmp_path / "door"))
        thread.join()
