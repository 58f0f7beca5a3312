"""Python's websockets as server and client. Arguments: `server PORT`, or `client URL [CA]`."""

import asyncio
import os
import ssl
import sys

import websockets
from websockets.asyncio.client import connect
from websockets.asyncio.server import serve


async def echo(socket):
    async for message in socket:
        if message == "close":
            await socket.close(4001, "as told")
        else:
            await socket.send(message)


async def server(port):
    async with serve(echo, "127.0.0.1", int(port), max_size=None):
        await asyncio.Future()


async def client(url, ca=None):
    options = {"max_size": None}
    if ca:
        options["ssl"] = ssl.create_default_context(cafile=ca)
    async with connect(url, **options) as socket:
        for said in ["hello", "", "ü" * 50_000, os.urandom(16 << 20)]:
            await socket.send(said)
            assert await socket.recv() == said, len(said)
        await socket.send(["in ", "three ", "pieces"])
        assert await socket.recv() == "in three pieces"
        await (await socket.ping())
        await socket.send("close")
        await socket.wait_closed()
        assert (socket.close_code, socket.close_reason) == (4001, "as told")
    sockets = await asyncio.gather(*(connect(url, **options) for _ in range(200)))
    for number, socket in enumerate(sockets):
        await socket.send(str(number))
    for number, socket in enumerate(sockets):
        assert await socket.recv() == str(number)
        await socket.close()


asyncio.run({"server": server, "client": client}[sys.argv[1]](*sys.argv[2:]))
