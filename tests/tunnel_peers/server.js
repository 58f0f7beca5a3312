// An echo over WebSocket, on the port given, that does some things when told to.
"use strict";
const { WebSocketServer } = require("ws");

const server = new WebSocketServer({ host: "127.0.0.1", port: +process.argv[2], perMessageDeflate: true });
server.on("connection", (socket) => {
  socket.on("message", (message, isBinary) => {
    const text = isBinary ? "" : String(message);
    if (text.startsWith("close ")) {
      const [, code, why] = text.split(" ");
      socket.close(+code, why);
    } else if (text === "end") {
      // The end of the connection without a word of WebSocket.
      socket.send("last words", { compress: false });
      socket._socket.end();
    } else if (text === "die") {
      // In the middle of a message: the head of a frame, and part of what it announces.
      socket._socket.write(Buffer.from([0x82, 0x7e, 0xff, 0xff, 1, 2, 3]));
      setTimeout(() => socket._socket.resetAndDestroy(), 10);
    } else {
      socket.send(message, { binary: isBinary });
    }
  });
});
