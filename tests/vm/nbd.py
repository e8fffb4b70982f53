# SPDX-License-Identifier: GPL-2.0-only
"""A disk with a volatile cache: an NBD server that loses unflushed writes at a power cut.

    disk = VolatileDisk("disk.img", "/tmp/sock")     # serves from a thread
    ... QEMU runs on Disk("/tmp/sock", nbd=True) and is killed ...
    lost = disk.power_cut(seed=7)                    # disk.img is what survived

A flush makes everything that was written before it durable; a FUA write only
itself.  Of the rest each sector survives or not, by chance; only what holds the ext4
super block stays whole: no ext4 can be mounted if that is torn, stock's neither.
With trim=True the disk can be told what is not needed: that reads as zeros, and a trim is
lost by a power cut as writes are. With lie=True it ignores flushes and FUA, to see a test
fail. Without a path of a socket it listens on the TCP port .port of 127.0.0.1. A read takes
read_s seconds; several take as long at once, as in a network, or with one_head=True one after
the other.
"""

import contextlib
import mmap
import os
import random
import socket
import struct
import threading
import time

SECTOR = 512
SUPER = range(1024, 2048)

_OPT_EXPORT_NAME, _OPT_ABORT, _OPT_INFO, _OPT_GO = 1, 2, 6, 7
_REP_ACK, _REP_INFO, _REP_ERR_UNSUP = 1, 3, 0x80000001
_CMD_READ, _CMD_WRITE, _CMD_DISC, _CMD_FLUSH, _CMD_TRIM = 0, 1, 2, 3, 4
_FLAG_FUA = 1
_EXPORT_FLAGS = 1 | 4 | 8    # has flags, flush, FUA
_EXPORT_TRIM = 32
_EINVAL = 22
_ZEROS = bytes(1 << 20)


class VolatileDisk:
    def __init__(self, image, sock_path=None, trim=False, lie=False, read_s=0, one_head=False):
        self.export_flags = _EXPORT_FLAGS | (_EXPORT_TRIM if trim else 0)
        self.image = str(image)
        self.sock_path = str(sock_path or "")
        self.lie = lie
        self.read_s, self.one_head = read_s, one_head
        self.live_path = self.image + ".live"
        self.pending = []    # (offset, data, fua) in the order of arrival since the last flush
        self.writes = self.flushes = self.fua_writes = self.trims = self.bytes = 0
        self.stop_at = None              # stop answering after this many writes
        self.stopped = threading.Event()
        self.switched_off = threading.Event()
        self.lock = threading.Lock()
        self.sending = threading.Lock()
        sparse_copy(self.image, self.live_path)
        self.size = os.path.getsize(self.image)
        self.stable = open(self.image, "r+b", buffering=0)
        with open(self.live_path, "r+b") as live:
            self.live = mmap.mmap(live.fileno(), self.size)
        self.listener = socket.socket(socket.AF_UNIX if sock_path else socket.AF_INET)
        self.listener.bind(self.sock_path or ("127.0.0.1", 0))
        self.port = None if sock_path else self.listener.getsockname()[1]
        self.listener.listen(4)
        self.clients = []
        self.threads = []
        self._thread(self._accept)

    def _thread(self, target, *args):
        t = threading.Thread(target=target, args=args, daemon=True)
        self.threads.append(t)
        t.start()

    # ---- protocol ----

    def _accept(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            self.clients.append(conn)
            self._thread(self._client, conn)

    def _client(self, conn):
        try:
            stream = conn.makefile("rb", buffering=1 << 20)
            if self._handshake(conn, stream):
                self._serve(conn, stream)
        except (EOFError, OSError, ValueError):
            pass
        finally:
            conn.close()

    def _handshake(self, conn, stream):
        conn.sendall(b"NBDMAGICIHAVEOPT" + struct.pack(">H", 3))
        _read(stream, 4)
        while True:
            magic, option, length = struct.unpack(">8sII", _read(stream, 16))
            if magic != b"IHAVEOPT":
                return False
            _read(stream, length)

            def reply(kind, data=b"", option=option):
                conn.sendall(struct.pack(">QIII", 0x3e889045565a9, option, kind, len(data)) + data)

            if option == _OPT_EXPORT_NAME:
                conn.sendall(struct.pack(">QH", self.size, self.export_flags))
                return True
            if option in (_OPT_GO, _OPT_INFO):
                reply(_REP_INFO, struct.pack(">HQH", 0, self.size, self.export_flags))
                reply(_REP_ACK)
                if option == _OPT_GO:
                    return True
            elif option == _OPT_ABORT:
                reply(_REP_ACK)
                return False
            else:
                reply(_REP_ERR_UNSUP)

    def _serve(self, conn, stream):
        while True:
            magic, flags, kind, handle, offset, length = struct.unpack(">IHHQQI", _read(stream, 28))
            if magic != 0x25609513 or kind == _CMD_DISC:
                return
            if self.stopped.is_set():
                self.switched_off.wait()
                return
            error, data = 0, b""
            if kind == _CMD_WRITE:
                self._write(offset, _read(stream, length), bool(flags & _FLAG_FUA))
            elif kind == _CMD_READ:
                data = self.live[offset:offset + length]
            elif kind == _CMD_FLUSH:
                self._flush()
            elif kind == _CMD_TRIM and self.export_flags & _EXPORT_TRIM:
                self._trim(offset, length)
            else:
                error = _EINVAL
            answer = struct.pack(">IIQ", 0x67446698, error, handle) + data
            if kind == _CMD_READ and self.read_s:
                self._later(conn, answer)
            else:
                self._answer(conn, answer)

    def _answer(self, conn, answer):
        with self.sending:
            conn.sendall(answer)

    def _later(self, conn, answer):
        def send():
            with contextlib.suppress(OSError):    # the guest may be gone by then
                self._answer(conn, answer)

        if self.one_head:
            time.sleep(self.read_s)
            send()
        else:
            threading.Timer(self.read_s, send).start()

    # ---- the cache ----

    def _write(self, offset, data, fua):
        with self.lock:
            fua = fua and not self.lie
            self.live[offset:offset + len(data)] = data
            self.pending.append((offset, data, fua))
            self.writes += 1
            self.fua_writes += fua
            self.bytes += len(data)
            if self.stop_at and self.writes >= self.stop_at:
                self.stopped.set()

    def _trim(self, offset, length):
        with self.lock:
            self.trims += 1
            for at in range(offset, offset + length, len(_ZEROS)):
                data = _ZEROS[:min(len(_ZEROS), offset + length - at)]
                self.live[at:at + len(data)] = data
                self.pending.append((at, data, False))

    def stop_after(self, writes):
        """Stop answering after so many further writes: wait for .stopped, then kill."""
        self.stop_at = self.writes + writes

    def _flush(self):
        with self.lock:
            self.flushes += 1
            if self.lie:
                return
            for offset, data, _ in self.pending:
                os.pwrite(self.stable.fileno(), data, offset)
            self.pending.clear()

    def _stop(self):
        self.switched_off.set()
        self.listener.close()
        for conn in self.clients:
            try:
                conn.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        for t in self.threads[1:]:
            t.join(10)
        for path in (self.sock_path, self.live_path):
            if path and os.path.exists(path):
                os.unlink(path)

    def snapshot(self, path, seed, keep=0.5):
        """Write the disk as a power cut now would leave it to path; the disk continues."""
        with self.lock:
            sparse_copy(self.image, path)
            with open(path, "r+b", buffering=0) as image:
                return self._lose(image.fileno(), seed, keep)

    def insert(self, path):
        """Put in another image of the same size, while nobody uses the disk; all of it is durable."""
        with self.lock:
            self.pending.clear()
            for name in (self.image, self.live_path):
                sparse_fill(path, name)

    def _lose(self, fd, seed, keep):
        """Write the surviving pending writes to the file; the lock is held."""
        rng = random.Random(seed)
        seen = lost = 0
        for offset, data, fua in self.pending:
            super_kept = rng.random() < keep
            for at in range(0, len(data), SECTOR):
                seen += 1
                kept = super_kept if offset + at in SUPER else rng.random() < keep
                if fua or kept:
                    os.pwrite(fd, data[at:at + SECTOR], offset + at)
                else:
                    lost += 1
        return seen, lost

    def power_cut(self, seed, keep=0.5):
        """Stop; sectors written since the last flush survive with the given chance.

        Returns (sectors written since the last flush, sectors of them lost).
        """
        self._stop()
        with self.lock:
            seen, lost = self._lose(self.stable.fileno(), seed, keep)
            self.pending.clear()
        self.stable.close()
        return seen, lost

    def close(self):
        """Stop as a device that is switched off after a flush."""
        self._stop()
        self.lie = False
        self._flush()
        self.stable.close()


def sparse_copy(source, target):
    """A sparse copy."""
    if os.path.exists(target):
        os.unlink(target)
    open(target, "wb").close()
    sparse_fill(source, target)


def sparse_fill(source, target):
    """Give an existing file the contents of another one; it stays the same file."""
    size = os.path.getsize(source)
    os.truncate(target, 0)
    os.truncate(target, size)
    with open(source, "rb") as src, open(target, "r+b") as dst:
        at = 0
        while at < size:
            try:
                at = os.lseek(src.fileno(), at, os.SEEK_DATA)
            except OSError:
                break
            end = os.lseek(src.fileno(), at, os.SEEK_HOLE)
            src.seek(at)
            dst.seek(at)
            while at < end:
                chunk = src.read(min(1 << 20, end - at))
                dst.write(chunk)
                at += len(chunk)


def _read(stream, n):
    data = stream.read(n)
    if len(data) != n:
        raise EOFError
    return data
