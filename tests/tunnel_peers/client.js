// What a client of WebSocket does, over HTTP/1.1 (ws:, wss:) or HTTP/2 (http:, https:; RFC 8441). Ends with 1 and its
// words where the answer is not what it should be.
"use strict";
const assert = require("node:assert");
const crypto = require("node:crypto");
const { once } = require("node:events");
const http2 = require("node:http2");
const { WebSocket } = require("ws");

const [url, ca] = process.argv.slice(2);
const tls = { ca: ca && require("node:fs").readFileSync(ca) };
const parallel = url.startsWith("ws") ? 200 : 90;
let session;

async function open() {
  if (url.startsWith("ws")) {
    const socket = new WebSocket(url, tls);
    await once(socket, "open");
    assert(socket.extensions.includes("permessage-deflate"), "compression is agreed upon");
    return socket;
  }
  if (!session) {
    session = http2.connect(url, tls);
    await once(session, "remoteSettings");
    assert(session.remoteSettings.enableConnectProtocol, "CONNECT with a protocol is announced");
  }
  const head = { ":method": "CONNECT", ":protocol": "websocket", ":path": "/", "sec-websocket-version": "13" };
  const stream = session.request(head, { endStream: false });
  const [answer] = await once(stream, "response");
  assert.equal(answer[":status"], 200);
  assert(!("sec-websocket-accept" in answer) && !("upgrade" in answer), "that was between others");
  // The library speaks WebSocket over whatever it is given.
  const socket = new WebSocket(null, undefined, {});
  socket._isServer = false;
  const options = { maxPayload: 64 << 20, skipUTF8Validation: false, allowSynchronousEvents: true };
  socket.setSocket(stream, Buffer.alloc(0), options);
  return socket;
}

async function heard(socket) {
  const [message, isBinary] = await once(socket, "message");
  return isBinary ? message : String(message);
}

async function echoed(socket, said) {
  socket.send(said);
  const answer = await heard(socket);
  assert(Buffer.compare(Buffer.from(answer), Buffer.from(said)) === 0, `${said.length} bytes come back`);
}

function closed(socket, said) {
  socket.send(said);
  socket.on("error", () => {});
  return new Promise((done) => socket.on("close", (code, why) => done([code, String(why)])));
}

async function main() {
  const one = await open();
  for (const said of ["hello", "", "x".repeat(100_000), Buffer.alloc(1 << 20, 7), crypto.randomBytes(16 << 20)]) {
    await echoed(one, said);
  }
  one.ping("there?");
  assert.equal(String((await once(one, "pong"))[0]), "there?");
  one.send("in ", { fin: false });
  one.ping();
  one.send("three ", { fin: false });
  one.send("pieces", { fin: true });
  assert.equal(await heard(one), "in three pieces");
  for (const code of [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 4999]) {
    assert.deepEqual(await closed(await open(), `close ${code} why`), [code, "why"]);
  }
  const many = await Promise.all(Array.from({ length: parallel }, open));
  await Promise.all(many.map(async (socket, index) => {
    for (let turn = 0; turn < 20; turn++) await echoed(socket, `${index} ${turn}`);
    assert.deepEqual(await closed(socket, "close 1000 done"), [1000, "done"]);
  }));
  const half = await open();
  const [last, [code]] = await Promise.all([heard(half), closed(half, "end")]);
  assert.deepEqual([last, code], ["last words", 1006]);
  const dead = await open();
  assert.equal((await closed(dead, "die"))[0], 1006);
  await echoed(await open(), "others go on");
}

main().then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
