// A WebSocket echo: what a client says comes back. Below /chat it goes to everybody who is there.
//
//     node echo.js [PORT]

const { createServer } = require("node:http");
const { WebSocketServer, OPEN } = require("ws");

const port = Number(process.argv[2] ?? 9400);
const server = createServer((_, answer) => answer.end("a WebSocket is spoken here\n"));
// A message may be of 32 MiB. Compression is the application's affair: hayami passes on what the two agree upon.
const sockets = new WebSocketServer({ server, maxPayload: 32 << 20, perMessageDeflate: true });

sockets.on("connection", (socket, request) => {
  const room = request.url.split("?")[0];
  socket.room = room;
  socket.on("error", (error) => console.error(`${room}: ${error.message}`));
  socket.on("message", (message, isBinary) => {
    const listeners = room === "/chat" ? [...sockets.clients].filter((other) => other.room === room) : [socket];
    for (const other of listeners) {
      if (other.readyState === OPEN) other.send(message, { binary: isBinary });
    }
  });
});

// A ping now and then keeps a quiet connection open through hayami, and ends one whose client has vanished.
const heartbeat = setInterval(() => {
  for (const socket of sockets.clients) {
    if (socket.silent) socket.terminate();
    socket.silent = true;
    socket.once("pong", () => { socket.silent = false; });
    socket.ping();
  }
}, 20_000);

process.on("SIGTERM", () => {
  clearInterval(heartbeat);
  for (const socket of sockets.clients) socket.close(1001, "the server is stopped");
  server.close();
});

server.listen(port, "127.0.0.1", () => console.log(`listens on ${port}`));
