"""Has the server run a command with this process' folder, environment and streams: `client.py SOCKET COMMAND`.

It starts in a few milliseconds: `python -I -S` imports nothing more than is built in.
"""

import _socket
import os
import sys

LENGTH = 8  # bytes in front of a request that say how long it is


def main() -> int:
    connection = _socket.socket(_socket.AF_UNIX)
    connection.connect(sys.argv[1])
    request = repr((os.getcwd(), dict(os.environ), sys.argv[2:])).encode()
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
    ancillary = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)]
    connection.sendmsg([len(request).to_bytes(LENGTH, "big")], ancillary)
    connection.sendall(request)
    status = connection.recv(1)
    return status[0] if status else 139  # it died


if __name__ == "__main__":
    sys.exit(main())
