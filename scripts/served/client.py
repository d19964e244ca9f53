"""Has the server run a command with this process' folder, environment and streams: `client.py SOCKET COMMAND`.

It starts in a few milliseconds: `python -I -S` imports nothing more than is built in. It ends as the command does, also
by a signal, and the command ends with it.
"""

import _socket
import os
import sys

LENGTH = 8  # bytes in front of a request that say how long it is
STATUS = 2  # bytes of an exit status, which is negative for a signal


def main() -> int:
    connection = _socket.socket(_socket.AF_UNIX)
    connection.connect(sys.argv[1])
    request = repr((os.getcwd(), dict(os.environ), sys.argv[2:])).encode("utf-8", "surrogateescape")
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
    ancillary = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)]
    connection.sendmsg([len(request).to_bytes(LENGTH, "big")], ancillary)
    connection.sendall(request)
    for stream in range(3):  # who reads what the command writes sees its end
        os.close(stream)
    status = int.from_bytes(connection.recv(STATUS), "big", signed=True)
    if status < 0:
        os.kill(os.getpid(), -status)
    return status


if __name__ == "__main__":
    os._exit(main())
