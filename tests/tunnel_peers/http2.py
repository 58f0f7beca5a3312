"""RFC 8441 by hand, with Python's h2: one echo, in two frames of WebSocket. Arguments: HOST PORT."""

import socket
import sys

import h2.config
import h2.connection
import h2.events
import h2.settings

wire = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=60)
connection = h2.connection.H2Connection(config=h2.config.H2Configuration(header_encoding="utf-8"))
connection.initiate_connection()
wire.sendall(connection.data_to_send())
answer, heard, ended = None, b"", False


def turn():
    global answer, heard, ended
    bytes = wire.recv(65536)
    assert bytes, "the server closed the connection"
    for event in connection.receive_data(bytes):
        if isinstance(event, h2.events.ResponseReceived):
            answer = dict(event.headers)
        elif isinstance(event, h2.events.DataReceived):
            heard += event.data
            connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            ended = True
        elif isinstance(event, h2.events.StreamReset):
            raise SystemExit(f"the stream was reset: {event}")
    wire.sendall(connection.data_to_send())


while connection.remote_settings.get(h2.settings.SettingCodes.ENABLE_CONNECT_PROTOCOL) != 1:
    turn()
fields = {":method": "CONNECT", ":protocol": "websocket", ":scheme": "http", ":authority": "a", ":path": "/"}
connection.send_headers(1, [*fields.items(), ("sec-websocket-version", "13")])
wire.sendall(connection.data_to_send())
while answer is None:
    turn()
assert answer[":status"] == "200", answer
# "hel" and "lo", masked with nothing.
connection.send_data(1, b"\x01\x83\0\0\0\0hel" + b"\x80\x82\0\0\0\0lo")
wire.sendall(connection.data_to_send())
while len(heard) < 7:
    turn()
assert heard == b"\x81\x05hello", heard
# Close with 1000: the server says so too, and ends; then the stream does.
connection.send_data(1, b"\x88\x82\0\0\0\0\x03\xe8")
wire.sendall(connection.data_to_send())
while not ended:
    turn()
assert heard[7:] == b"\x88\x02\x03\xe8", heard
connection.end_stream(1)
wire.sendall(connection.data_to_send())
