"""Starts one command, waits for it, and prints what it took: `python -S launcher.py LIMITS COMMAND…`.

A process of its own, and as small as Python gets: the peak memory that the kernel reports for a child begins at what
its parent holds, and limits must not bind the parent. Prints one line of JSON; the command's streams go to files.
"""

import json
import os
import resource
import signal
import sys
import time

INTERVAL = 0.01  # seconds between two looks at the anonymous memory


def own_pages(process: int) -> int:
    """The kibibytes of a process that stand in no file: mapped pages of a file are the cache's, and can be dropped."""
    try:
        with open(f"/proc/{process}/status", "rb") as status:
            for line in status:
                if line.startswith(b"RssAnon:"):
                    return int(line.split()[1])
    except OSError:
        pass
    return 0


def start(command: list[str], limits: dict, out: int, err: int) -> int:
    process = os.fork()
    if process:
        return process
    try:
        os.setpgid(0, 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        resource.setrlimit(resource.RLIMIT_AS, (limits["memory"], limits["memory"]))
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def main() -> None:
    limits, command = json.loads(sys.argv[1]), sys.argv[2:]
    streams = [os.open(limits[name], os.O_CREAT | os.O_TRUNC | os.O_WRONLY) for name in ("stdout", "stderr")]
    began = time.perf_counter()
    process = start(command, limits, *streams)
    own, timed_out, look = 0, False, began
    while True:
        ended, status, usage = os.wait4(process, os.WNOHANG)
        now = time.perf_counter()
        if ended:
            break
        if now - began > limits["seconds"] and not timed_out:
            timed_out = True
            os.killpg(process, signal.SIGKILL)
        if limits["watch"] and now > look:
            own, look = max(own, own_pages(process)), now + INTERVAL
        time.sleep(0.001)
    code = os.waitstatus_to_exitcode(status)
    print(
        json.dumps(
            {
                "wall": now - began,
                "user": usage.ru_utime,
                "system": usage.ru_stime,
                "peak": usage.ru_maxrss * 1024,
                "own": own * 1024,
                "exit_code": None if timed_out else code,
            }
        )
    )


if __name__ == "__main__":
    main()
