#!/usr/bin/env python3
"""The parts of record.sh that are no shell: senders, sinks, the recorder. Each ends by itself.

traffic.py offloads-off DEV     no segmentation or checksum offload on DEV
traffic.py sink                 takes whatever comes, on ports 80 (TCP) and 9 (UDP)
traffic.py send SECONDS         all senders, from their addresses
traffic.py record DEV SECONDS FILE   what comes in on DEV, as pcapng
"""

import array
import fcntl
import selectors
import socket
import struct
import sys
import threading
import time

SNAP_LEN = 96
SERVER, ECN_SERVER, SERVER_V6 = "10.0.2.1", "10.0.2.2", "2001:db8:2::1"


def offloads_off(device):
    # linux/ethtool.h: set receive and transmit checksums, scatter-gather, TSO, GSO, GRO to 0.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for command in (0x15, 0x17, 0x1F, 0x24, 0x2C, 0x19):
            value = array.array("B", struct.pack("II", command, 0))
            request = struct.pack("16sP", device.encode(), value.buffer_info()[0])
            try:
                fcntl.ioctl(sock, 0x8946, request)
            except OSError as error:  # a driver without the offload has none to turn off
                print(f"traffic.py: {device}: command {command:#x}: {error}", file=sys.stderr)


def sink():
    listening = selectors.DefaultSelector()
    for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        for kind, port in ((socket.SOCK_STREAM, 80), (socket.SOCK_DGRAM, 9)):
            sock = socket.socket(family, kind)
            if family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            sock.bind((address, port))
            if kind == socket.SOCK_STREAM:
                sock.listen(64)
            listening.register(
                sock, selectors.EVENT_READ, "listen" if kind == socket.SOCK_STREAM else "read"
            )
    while True:
        for key, _ in listening.select():
            if key.data == "listen":
                listening.register(key.fileobj.accept()[0], selectors.EVENT_READ, "read")
            elif key.fileobj.type == socket.SOCK_DGRAM:
                key.fileobj.recv(1 << 16)
            elif is_over(key.fileobj):
                listening.unregister(key.fileobj)
                key.fileobj.close()


def is_over(connection):
    """Takes what there is; whether that was the end of it."""
    try:
        return not connection.recv(1 << 16)
    except ConnectionResetError:
        return True


def stream(source, server, start, end):
    """A TCP connection that sends as fast as it may."""
    time.sleep(max(0, start - time.monotonic()))
    family = socket.AF_INET6 if ":" in source else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.bind((source, 0))
        # What is still in the socket's buffer at the end need not go out.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        try:
            sock.settimeout(end - time.monotonic())
            sock.connect((server, 80))
            while (left := end - time.monotonic()) > 0:
                sock.settimeout(left)
                sock.send(bytes(1 << 14))
        except TimeoutError:
            pass  # starved to the end
        except OSError as error:
            print(f"traffic.py: {source}: {error}", file=sys.stderr)


def datagrams(source, size, per_second, start, end):
    """UDP datagrams of `size` bytes at a constant rate, whatever becomes of them."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((source, 9))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        due = start
        while due < end:
            time.sleep(max(0, due - time.monotonic()))
            sock.sendto(bytes(size), (SERVER, 9))
            due += 1 / per_second


def send(seconds):
    start = time.monotonic() + 0.1
    end = start + seconds
    jobs = [
        (stream, "10.0.1.1", SERVER, start, end),
        (stream, "10.0.1.2", SERVER, start + 0.1, end),
        (stream, "10.0.1.3", ECN_SERVER, start + 0.2, end),
        (stream, "10.0.1.4", ECN_SERVER, start + 0.3, end),
        (stream, "2001:db8:1::1", SERVER_V6, start + 0.4, end),
        # 3000 bytes are three fragments each.
        (datagrams, "10.0.1.7", 3000, 10, start, end),
        # 1250 datagrams of 1000 + 28 bytes are 10.3 Mbit/s: more than the whole bottleneck.
        (datagrams, "10.0.1.66", 1000, 1250, start + 1.5, start + 4.5),
    ]
    jobs += [(stream, "10.0.1.9", SERVER, start + 0.5 + 0.01 * i, end) for i in range(20)]
    threads = [threading.Thread(target=job[0], args=job[1:]) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def block(kind, body):
    body += bytes(-len(body) % 4)
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def option(code, value):
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def record(device, seconds, path):
    with (
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as sock,
        open(path, "wb") as file,
    ):
        sock.setsockopt(socket.SOL_SOCKET, 33, 1 << 25)  # SO_RCVBUFFORCE
        sock.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
        sock.bind((device, 3))
        comment = b"Packets offered to a bottleneck of 10 Mbit/s by kernel TCP and a UDP flood. See captures/README.md."
        section = (
            struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
            + option(1, comment)
            + option(4, b"captures/record.sh")
        )
        file.write(block(0x0A0D0D0A, section + option(0, b"")))
        options = option(2, device.encode()) + option(9, b"\x09") + option(0, b"")
        file.write(block(1, struct.pack("<HHI", 1, 0, SNAP_LEN) + options))
        end = time.monotonic() + seconds
        packets = 0
        while (left := end - time.monotonic()) > 0:
            sock.settimeout(left)
            try:
                frame, ancillary, _, address = sock.recvmsg(1 << 16, 64)
            except TimeoutError:
                break
            if (
                address[2] == socket.PACKET_OUTGOING
            ):  # what the router sends back is not offered to the bottleneck
                continue
            whole, nanos = struct.unpack("qq", ancillary[0][2])
            stamp = whole * 10**9 + nanos
            bytes_ = frame[:SNAP_LEN]
            fixed = struct.pack(
                "<IIIII", 0, stamp >> 32, stamp & 0xFFFFFFFF, len(bytes_), len(frame)
            )
            file.write(block(6, fixed + bytes_))
            packets += 1
        lost = struct.unpack("II", sock.getsockopt(263, 6, 8))[1]  # SOL_PACKET, PACKET_STATISTICS
        print(f"{packets} packets recorded, {lost} lost by the recorder")
        if lost:
            sys.exit("traffic.py: the recorder was too slow; record again on an idle machine")


def main():
    match sys.argv[1:]:
        case ["offloads-off", device]:
            offloads_off(device)
        case ["sink"]:
            sink()
        case ["send", seconds]:
            send(float(seconds))
        case ["record", device, seconds, path]:
            record(device, float(seconds), path)
        case _:
            sys.exit(__doc__)


main()
