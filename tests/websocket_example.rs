//! The worked example in examples/websocket: Node's `ws` on both sides, hayami between them with the
//! example's own configuration. Skipped if programs are not installed, unless HAYAMI_ALL_CLIENTS=1.

use crate::support::peers::{free_port, listens};
use crate::support::{Launch, Scratch, missing, missing_package, output, run, skip, until};
use std::process::{Child, Command, Stdio};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/websocket");

/// The application; dropping it kills it.
struct Echo(Child);

impl Drop for Echo {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn echo(port: u16) -> Echo {
    let mut command = Command::new("node");
    command.arg(format!("{EXAMPLE}/echo.js")).arg(port.to_string());
    let echo = Echo(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("node"));
    until("the echo listens", || listens(port));
    echo
}

/// Requests each item in turn, and exits with 1 and a message if a response differs.
const CLIENT: &str = r#"
const { WebSocket } = require("ws");
const assert = require("node:assert");
const { once } = require("node:events");
const [url] = process.argv.slice(1);
const open = async (path) => { const s = new WebSocket(url + path); await once(s, "open"); return s; };
const heard = async (s) => { const [message, isBinary] = await once(s, "message"); return isBinary ? message : String(message); };
(async () => {
  const one = await open("/socket/");
  assert(one.extensions.includes("permessage-deflate"), "compression is agreed upon");
  for (const said of ["hello", "", "x".repeat(100_000), Buffer.alloc(1 << 20, 7), Buffer.alloc(16 << 20, 9)]) {
    one.send(said);
    assert(Buffer.compare(Buffer.from(await heard(one)), Buffer.from(said)) === 0, `${said.length} bytes`);
  }
  one.ping("are you there");
  assert.equal(String((await once(one, "pong"))[0]), "are you there");
  const [ann, bob] = [await open("/socket/chat"), await open("/socket/chat?name=bob")];
  ann.send("to all");
  assert.deepEqual(await Promise.all([heard(ann), heard(bob)]), ["to all", "to all"]);
  bob.close(4001, "enough");
  assert.equal((await once(bob, "close"))[0], 4001);
  one.close(1000);
  ann.close(1000);
  console.log("done");
})().catch((error) => { console.error(error); process.exit(1); });
"#;

#[test]
fn what_npm_leaves_behind_is_not_a_change_of_the_tree() {
    if missing("git") {
        return;
    }
    let ignored = |name: &str| {
        let path = format!("{EXAMPLE}/{name}");
        output("git", ["-C", EXAMPLE, "-c", "safe.directory=*", "check-ignore", "--no-index", &path]).0
    };
    // 128: the sources are no repository here.
    if ignored("x") == 128 {
        return skip("the sources are not a repository of git");
    }
    assert_eq!((ignored("node_modules/ws/index.js"), ignored("package-lock.json")), (0, 0));
    assert_eq!((ignored("package.json"), ignored("echo.js")), (1, 1));
}

#[test]
fn the_echo_is_spoken_to_through_hayami_with_the_examples_configuration() {
    if missing_package("ws") {
        return;
    }
    let (dir, port) = (Scratch::new(), free_port());
    let _echo = echo(port);
    dir.write("www/index.html", "front");
    let text =
        std::fs::read_to_string(format!("{EXAMPLE}/hayami.conf")).expect("the example's configuration");
    let text = text
        .replace("listen: 8080", "listen: {host: 127.0.0.1, port: 0}")
        .replace("/srv/chat/www", &dir.text("www"))
        .replace("127.0.0.1:9400", &format!("127.0.0.1:{port}"));
    dir.write("hayami.conf", text);
    let server = Launch::new(["-c", &dir.text("hayami.conf")]).serve();
    assert_eq!(server.get("/").text(), "front");
    assert_eq!(server.get("/socket/").text(), "a WebSocket is spoken here\n");
    let said = run("node", &["-e", CLIENT, &format!("ws://{}", server.address)]);
    assert_eq!(said, "done\n");
}
