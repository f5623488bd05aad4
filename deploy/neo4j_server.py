"""Starts and ends a stand-alone Neo4j where there is no Docker: its jars come from Maven Central.

    python deploy/neo4j_server.py start --home DIR [--line L] [--bolt-port N] [--http-port N] [--password P]
    python deploy/neo4j_server.py status --home DIR
    python deploy/neo4j_server.py stop --home DIR

The jars are kept in a per-user cache ($XDG_CACHE_HOME or ~/.cache, then chronofy-kg/neo4j/VERSION), so a
second start needs no network. The server listens on 127.0.0.1 only and runs until it is stopped. The test
fixtures use the same functions. Standard library, and the neo4j driver to see when the server is ready.
Neo4j Community is GPL-3.0 and runs as a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

_HERE = Path(__file__).resolve().parent
POM = _HERE / "neo4j-pom.xml"
USER = "neo4j"
DEFAULT_PASSWORD = "chronofy-kg"  # on loopback, for trying things out
_STOP_S = 30.0


@dataclass(frozen=True)
class Release:
    """One line of Neo4j: what it needs and how it is started."""

    version: str
    browser: str
    java: range
    main: str


#: The lines that are known to run, with the major versions of Java that may run them: 5.26 must not be
#: started on a newer one, 2025 and later need 21.
RELEASES = {
    "5.26": Release("5.26.30", "5.24.0", range(17, 18), "org.neo4j.server.CommunityEntryPoint"),
    "2026.08": Release("2026.08.1", "5.24.0", range(21, 100), "org.neo4j.server.Neo4jCommunity"),
}
DEFAULT_LINE = "5.26"


class DeployError(Exception):
    """What is missing or went wrong, in one line."""


@dataclass(frozen=True)
class Server:
    """A running server, as its state file tells it."""

    home: str
    pid: int
    bolt_port: int
    http_port: int
    password: str
    version: str

    @property
    def uri(self) -> str:
        """Its Bolt address."""
        return f"bolt://127.0.0.1:{self.bolt_port}"

    @property
    def browser(self) -> str:
        """The page of Neo4j Browser, already pointed at this server."""
        target = f"bolt://{USER}@127.0.0.1:{self.bolt_port}"
        return f"http://127.0.0.1:{self.http_port}/browser/?dbms={target}&db=neo4j"


def find_java(majors: range) -> Path:
    """Return the java of a JDK of such a major version: JAVA_HOME, then /usr/lib/jvm, then the PATH."""
    homes = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    homes += sorted(Path("/usr/lib/jvm").glob("*")) if Path("/usr/lib/jvm").is_dir() else []
    candidates = [home / "bin" / "java" for home in homes]
    on_path = shutil.which("java")
    candidates += [Path(on_path)] if on_path else []
    for java in candidates:
        if java.is_file() and _java_major(java) in majors:
            return java
    first = majors[0]
    wanted = str(first) if len(majors) == 1 else f"{first} or newer"
    raise DeployError(
        f"no JDK {wanted} under JAVA_HOME, /usr/lib/jvm or on the PATH: install openjdk-{first}"
    )


def _java_major(java: Path) -> int | None:
    told = subprocess.run([str(java), "-version"], capture_output=True, text=True, check=False)
    match = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    return int(match.group(1)) if match else None


def find_maven() -> Path:
    """Return the mvn command."""
    maven = shutil.which("mvn")
    if maven is None:
        raise DeployError("Maven (mvn) is not on the PATH; it brings the Neo4j jars from Maven Central")
    return Path(maven)


def cache_folder(release: Release) -> Path:
    """Return where the jars of a release are kept for this user."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "chronofy-kg" / "neo4j" / release.version


def missing(line: str = DEFAULT_LINE) -> str | None:
    """Return why this machine cannot run that line, or None when it can."""
    release = RELEASES[line]
    try:
        find_java(release.java)
        if not (cache_folder(release) / "lib").is_dir():
            find_maven()
    except DeployError as problem:
        return str(problem)
    return None


def fetch_jars(release: Release) -> Path:
    """Return the folder of jars of a release, fetched from Maven Central the first time."""
    target = cache_folder(release) / "lib"
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.parent / f"lib.{os.getpid()}"
    command = [
        str(find_maven()), "-q", "-B", "-f", str(POM), "dependency:copy-dependencies",
        f"-Dneo4j.version={release.version}", f"-Dbrowser.version={release.browser}",
        f"-DoutputDirectory={draft}", "-DincludeScope=runtime",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        shutil.rmtree(draft, ignore_errors=True)
        reason = next((row for row in done.stdout.splitlines() if "ERROR" in row), "see mvn's output")
        raise DeployError(f"Maven could not bring Neo4j {release.version}: {reason}")
    try:
        draft.rename(target)
    except OSError:  # another process was quicker
        shutil.rmtree(draft, ignore_errors=True)
    return target


def free_port() -> int:
    """Return a port that is free on 127.0.0.1 now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def start(
    home: Path,
    *,
    line: str = DEFAULT_LINE,
    bolt_port: int | None = None,
    http_port: int | None = None,
    password: str | None = None,
    heap: str = "1g",
    timeout: float = 120.0,
) -> Server:
    """Start a server in a home folder and wait until it answers.

    The password counts at the first start of a home; later starts use the one that was kept.
    """
    release = RELEASES[line]
    home = home.expanduser().resolve()
    before = read_state(home)
    if before is not None and is_alive(before):
        raise DeployError(f"a server already runs in {home} (pid {before.pid}, {before.uri})")
    if before is not None and not before.version.startswith(f"{line}."):
        raise DeployError(f"{home} holds data of Neo4j {before.version}; give {line} a home of its own")
    java, jars = find_java(release.java), fetch_jars(release)
    if before is not None and password not in (None, before.password):
        raise DeployError(f"{home} has its password already; start it without --password")
    password = before.password if before is not None else password or DEFAULT_PASSWORD
    bolt = bolt_port or (before.bolt_port if before else free_port())
    http = http_port or (before.http_port if before else free_port())
    _write_home(home, jars, bolt, http)
    if before is None:
        _set_password(java, home, password)
    server = Server(str(home), _launch(java, release, home, heap), bolt, http, password, release.version)
    _write_state(server)
    try:
        _wait(server, timeout)
    except BaseException:
        stop(home)
        raise
    return server


def _write_home(home: Path, jars: Path, bolt: int, http: int) -> None:
    for name in ("conf", "data", "logs", "plugins", "run", "import"):
        (home / name).mkdir(parents=True, exist_ok=True)
    lib = home / "lib"
    lib.unlink(missing_ok=True)  # an earlier version of the line
    lib.symlink_to(jars)
    settings = {
        "server.default_listen_address": "127.0.0.1",
        "server.bolt.listen_address": f":{bolt}",
        "server.bolt.advertised_address": f"127.0.0.1:{bolt}",  # else the Browser is told 7687
        "server.http.listen_address": f":{http}",
        "server.http.advertised_address": f"127.0.0.1:{http}",
        "server.https.enabled": "false",
        "server.directories.data": "data",
        "server.memory.pagecache.size": "256m",
        "dbms.usage_report.enabled": "false",
    }
    text = "".join(f"{key}={value}\n" for key, value in settings.items())
    (home / "conf" / "neo4j.conf").write_text(text, encoding="utf-8")


def _set_password(java: Path, home: Path, password: str) -> None:
    done = subprocess.run(
        [str(java), "-cp", f"{home / 'lib'}/*", "org.neo4j.cli.AdminTool",
         "dbms", "set-initial-password", password],
        env=os.environ | {"NEO4J_HOME": str(home)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        reason = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise DeployError(f"the password was not accepted: {''.join(reason)}")


def _launch(java: Path, release: Release, home: Path, heap: str) -> int:
    """Start the server detached, and return its process id."""
    opens = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in ("java.nio", "java.io", "sun.nio.ch")]
    with (home / "logs" / "console.log").open("ab") as log:
        process = subprocess.Popen(
            [str(java), f"-Xmx{heap}", "-cp", f"{home / 'lib'}/*", *opens, release.main,
             f"--home-dir={home}", f"--config-dir={home / 'conf'}", "--console-mode"],
            cwd=home, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    _CHILDREN[process.pid] = process
    return process.pid


#: Servers that this process started: kept, so that they are reaped when they end.
_CHILDREN: dict[int, subprocess.Popen[bytes]] = {}


def _wait(server: Server, timeout: float) -> None:
    """Wait until `RETURN 1` is answered: an open port is not enough."""
    import logging

    from neo4j import GraphDatabase
    from neo4j.exceptions import DriverError, Neo4jError

    logging.getLogger("neo4j").addHandler(logging.NullHandler())
    log = Path(server.home) / "logs" / "console.log"
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if not is_alive(server):
            raise DeployError(f"Neo4j ended while it was starting; see {log}")
        if _listens(server.bolt_port):
            try:
                with GraphDatabase.driver(
                    server.uri, auth=(USER, server.password), max_transaction_retry_time=0.0
                ) as driver:
                    driver.execute_query("RETURN 1", database_="neo4j")
            except (DriverError, Neo4jError):
                pass
            else:
                return
        time.sleep(0.2)
    raise DeployError(f"Neo4j was not ready within {timeout:.0f} s; see {log}")


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def stop(home: Path) -> bool:
    """End the server of a home by its process id; return whether one ran."""
    server = read_state(home.expanduser().resolve())
    if server is None or not is_alive(server):
        return False
    for number, patience in ((signal.SIGTERM, _STOP_S), (signal.SIGKILL, 5.0)):
        os.kill(server.pid, number)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if not is_alive(server):
                _CHILDREN.pop(server.pid, None)
                return True
            time.sleep(0.1)
    raise DeployError(f"process {server.pid} does not end")


def is_alive(server: Server) -> bool:
    """Whether the process of the state file is this very server, and no other that got its number."""
    child = _CHILDREN.get(server.pid)
    if child is not None:
        return child.poll() is None
    told = subprocess.run(
        ["ps", "-ww", "-o", "stat=,args=", "-p", str(server.pid)], capture_output=True, text=True, check=False
    ).stdout.strip()
    return f"--home-dir={server.home}" in told and not told.startswith("Z")


def read_state(home: Path) -> Server | None:
    """Return what the state file of a home tells, None where there is none."""
    try:
        return Server(**json.loads((home / "server.json").read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None


def _write_state(server: Server) -> None:
    home = Path(server.home)
    file = home / "server.json"
    file.touch(mode=0o600)
    file.write_text(json.dumps(asdict(server), indent=2) + "\n", encoding="utf-8")
    (home / "run").mkdir(exist_ok=True)
    (home / "run" / "neo4j.pid").write_text(f"{server.pid}\n", encoding="utf-8")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


def _print_server(server: Server) -> None:
    _say(f"Neo4j {server.version} runs, pid {server.pid}, home {server.home}")
    _say(f"  bolt      {server.uri}   user {USER}   password {server.password}")
    _say(f"  browser   {server.browser}")


def _command_start(options: argparse.Namespace) -> int:
    _print_server(
        start(
            options.home,
            line=options.line,
            bolt_port=options.bolt_port,
            http_port=options.http_port,
            password=options.password,
        )
    )
    return 0


def _command_stop(options: argparse.Namespace) -> int:
    _say("stopped" if stop(options.home) else "no server ran")
    return 0


def _command_status(options: argparse.Namespace) -> int:
    server = read_state(options.home.expanduser().resolve())
    if server is None or not is_alive(server):
        _say("no server runs")
        return 1
    _print_server(server)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="neo4j_server.py", description="A stand-alone Neo4j from Maven Central."
    )
    commands = parser.add_subparsers(required=True)
    for name, run in (("start", _command_start), ("stop", _command_stop), ("status", _command_status)):
        command = commands.add_parser(name)
        command.set_defaults(run=run)
        command.add_argument("--home", type=Path, required=True, help="folder of data, logs and settings")
        if name == "start":
            command.add_argument("--line", choices=sorted(RELEASES), default=DEFAULT_LINE)
            command.add_argument("--bolt-port", type=int, help="default: a free one")
            command.add_argument("--http-port", type=int, help="default: a free one")
            command.add_argument("--password", help=f"8 characters or more; default {DEFAULT_PASSWORD}")
    options = parser.parse_args(arguments)
    try:
        code: int = options.run(options)
    except DeployError as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    return code


if __name__ == "__main__":
    sys.exit(main())
