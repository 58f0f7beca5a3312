//! The worked example in examples/rest-api, run as in its manual: hayami, the API in Go and its database.
//! Skipped if programs are not installed, unless HAYAMI_ALL_CLIENTS=1. The first run fetches the dependencies
//! of the API and the database.

use crate::support::peers::free_port;
use crate::support::{Answer, Client, PROGRAM, Scratch, is_installed, missing, output, until};
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const RUN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/rest-api/run");

/// The running example; dropping it stops it.
struct Example {
    dir: Scratch,
    port: u16,
    options: Vec<String>,
}

impl Example {
    /// Starts it; `None` where something is missing.
    fn start() -> Option<Self> {
        let database = !is_installed("mongod") && (missing("java") || missing("mvn"));
        if missing("go") || missing("curl") || database {
            return None;
        }
        let (dir, port) = (Scratch::new(), free_port());
        let options = ["-p".to_owned(), port.to_string()]
            .into_iter()
            .chain(["-a".to_owned(), format!("{},{}", free_port(), free_port())])
            .chain(["-m".to_owned(), free_port().to_string()]);
        let example = Self { dir, port, options: options.collect() };
        example.run("start");
        Some(example)
    }

    /// Runs one of its commands; returns the output.
    #[track_caller]
    fn run(&self, command: &str) -> String {
        let folder = self.dir.text("run");
        let mut run = Command::new(RUN);
        run.args([command, "-d", &folder]).env("HAYAMI", PROGRAM).stdin(Stdio::null());
        if command != "stop" && command != "status" {
            run.args(&self.options);
        }
        // Its programs keep inherited descriptors: with pipes, the test would wait until they end.
        let log = std::fs::File::create(self.dir.path("said")).expect("a file");
        let status = run.stdout(log.try_clone().expect("a file")).stderr(log).status().expect("it starts");
        let said = self.dir.read("said");
        assert!(status.success() || command == "status", "run {command}: {status}: {said}");
        said
    }

    /// The process of that name, if it runs.
    fn process(&self, name: &str) -> Option<i32> {
        let text = self.dir.read(&format!("run/{name}.pid"));
        text.split(' ').next()?.parse().ok().filter(|id| runs(*id))
    }

    fn signal(&self, name: &str, signal: Signal) {
        let id = self.process(name).and_then(Pid::from_raw).expect("it runs");
        kill_process(id, signal).expect("it runs");
    }

    fn kill(&self, name: &str) {
        self.signal(name, Signal::KILL);
        until("it is dead", || self.process(name).is_none());
    }

    fn client(&self) -> Client {
        Client::connect(&format!("127.0.0.1:{}", self.port))
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        self.run("stop");
        if std::thread::panicking() {
            eprintln!("{}\n{}", self.dir.read("run/hayami.log"), self.dir.read("run/api1.log"));
        }
    }
}

/// Whether a process runs; a zombie does not.
fn runs(id: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn ask(client: &mut Client, method: &str, target: &str, lines: &str, content: &str) -> Answer {
    let length = content.len();
    let kind = "Content-Type: application/json";
    client.send(format!(
        "{method} {target} HTTP/1.1\r\nHost: a\r\n{kind}\r\nContent-Length: {length}\r\n{lines}\r\n{content}"
    ));
    client.answer()
}

#[test]
fn the_example_starts_answers_survives_and_leaves_nothing() {
    let Some(example) = Example::start() else { return };
    products_are_made_read_changed_and_removed(&example);
    it_answers_over_http_2(&example);
    its_page_is_there(&example);
    a_silent_database_is_503(&example);
    killed_and_restarted_it_loses_nothing(&example);
    example.run("start");
    assert!(example.run("status").matches("process").count() == 4, "{}", example.run("status"));
    stopped_it_leaves_nothing(&example);
}

/// Method, target, more field lines, content; the status and a text in the response.
type Case = (&'static str, &'static str, &'static str, &'static str, u16, &'static str);

fn products_are_made_read_changed_and_removed(example: &Example) {
    let tea = r#"{"id":"tea","name":"Tea","cents":350,"tags":["hot"]}"#;
    let green = r#"{"name":"Green tea","cents":420}"#;
    let cases: [Case; 18] = [
        ("GET", "/api/products/tea", "", "", 404, "no such product"),
        ("POST", "/api/products", "", tea, 201, r#""name":"Tea""#),
        ("POST", "/api/products", "", tea, 409, "already"),
        ("GET", "/api/products/tea", "", "", 200, r#""cents":350"#),
        ("PUT", "/api/products/tea", "", green, 200, "Green tea"),
        ("PUT", "/api/products/tea", "If-Match: \"other\"\r\n", green, 412, "changed"),
        ("PUT", "/api/products/coffee", "", green, 201, r#""id":"coffee""#),
        ("PUT", "/api/products/coffee", "", tea, 422, "not that of the path"),
        ("POST", "/api/products", "", r#"{"id":"-"}"#, 422, r#""faults":{"id":"#),
        ("POST", "/api/products", "", r#"{"id":"#, 400, "not a product"),
        ("POST", "/api/products", "", r#"{"price":1}"#, 400, "price"),
        ("GET", "/api/products?limit=0", "", "", 422, "limit"),
        ("GET", "/api/products?limit=2", "", "", 200, "p-00000"),
        ("PATCH", "/api/products/tea", "", "", 405, ""),
        ("GET", "/api/none", "", "", 404, ""),
        ("DELETE", "/api/products/tea", "", "", 204, ""),
        ("DELETE", "/api/products/tea", "", "", 404, "no such product"),
        ("DELETE", "/api/products/coffee", "", "", 204, ""),
    ];
    let mut client = example.client();
    for (method, target, lines, content, status, contains) in cases {
        let answer = ask(&mut client, method, target, lines, content);
        assert_eq!(answer.status, status, "{method} {target} {content}: {}", answer.text());
        assert!(answer.text().contains(contains), "{method} {target}: {}", answer.text());
    }
    for lines in ["Content-Type: text/plain\r\n", ""] {
        let length = tea.len();
        let fields = format!("Host: a\r\n{lines}Content-Length: {length}\r\n");
        let answer = client.send(format!("POST /api/products HTTP/1.1\r\n{fields}\r\n{tea}")).answer();
        assert_eq!((answer.status, answer.field("content-type")), (415, Some("application/problem+json")));
        assert!(answer.text().contains("application/json"), "{}", answer.text());
    }
    entity_tags_and_pages(&mut client);
}

fn entity_tags_and_pages(client: &mut Client) {
    let large = format!(r#"{{"id":"x","name":"{}"}}"#, "x".repeat(20_000));
    assert_eq!(ask(client, "POST", "/api/products", "", &large).status, 413);
    // The API closes a connection whose content it has not read; the client's stays.
    let one = ask(client, "GET", "/api/products/p-00007", "", "");
    let tag = one.field("etag").expect("an entity tag").to_owned();
    let again = ask(client, "GET", "/api/products/p-00007", &format!("If-None-Match: {tag}\r\n"), "");
    assert_eq!((again.status, again.field("etag")), (304, Some(tag.as_str())));
    let page = ask(client, "GET", "/api/products?limit=5", "", "");
    assert_eq!(page.field("link"), Some("<?after=p-00004&limit=5>; rel=\"next\""));
    let next = ask(client, "GET", "/api/products?after=p-00004&limit=5", "", "");
    assert!(next.text().contains("p-00005") && !next.text().contains(r#""p-00004""#), "{}", next.text());
    let last = ask(client, "GET", "/api/products?after=p-00998", "", "");
    assert!(last.field("link").is_none() && last.text().contains("p-00999"), "{}", last.text());
}

fn it_answers_over_http_2(example: &Example) {
    let url = |path: &str| format!("http://127.0.0.1:{}{path}", example.port);
    let curl = |more: &[&str], path: &str| {
        let asked = url(path);
        let shown = ["-sS", "-m", "20", "--http2-prior-knowledge", "-w", " %{http_version} %{http_code}"];
        let (code, out) =
            output("curl", shown.into_iter().chain(more.iter().copied()).chain([asked.as_str()]));
        assert_eq!(code, 0, "curl {more:?} {path}");
        String::from_utf8_lossy(&out).into_owned()
    };
    let json = ["-H", "content-type: application/json", "-d", r#"{"id":"two","name":"Two"}"#];
    assert!(curl(&json, "/api/products").ends_with(" 2 201"));
    assert!(curl(&json, "/api/products").ends_with(" 2 409"));
    let got = curl(&[], "/api/products/two");
    assert!(got.contains(r#""name":"Two""#) && got.ends_with(" 2 200"), "{got}");
    assert!(curl(&["-X", "DELETE"], "/api/products/two").ends_with(" 2 204"));
    assert!(curl(&[], "/api/products/two").ends_with(" 2 404"));
}

fn its_page_is_there(example: &Example) {
    let mut client = example.client();
    assert!(ask(&mut client, "GET", "/", "", "").text().contains("<title>Shop</title>"));
    assert!(ask(&mut client, "GET", "/shop.js", "", "").text().contains("api/products"));
}

/// Whether all threads of a process are stopped by a signal.
fn is_stopped(id: i32) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{id}/task")).expect("it runs");
    tasks.flatten().all(|task| {
        let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|after| after.starts_with('T'))
    })
}

/// The API waits for its database for 20 seconds.
fn a_silent_database_is_503(example: &Example) {
    example.signal("database", Signal::STOP);
    let id = example.process("database").expect("it runs");
    until("every thread of it stands still", || is_stopped(id));
    let mut client = example.client();
    let answer = ask(client.patience(Duration::from_secs(60)), "GET", "/api/products/p-00001", "", "");
    example.signal("database", Signal::CONT);
    assert_eq!(answer.status, 503, "{answer:?}");
    assert_eq!(answer.field("retry-after"), Some("1"), "{answer:?}");
    until("it answers again", || ask(&mut client, "GET", "/api/products/p-00001", "", "").status == 200);
}

/// Clients send requests continuously while one process of the API is killed and restarted, then the other,
/// and then both are restarted as for a new version.
fn killed_and_restarted_it_loses_nothing(example: &Example) {
    let (done, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    let more = |count: usize| {
        let before = answered.load(Ordering::Relaxed);
        until("clients are answered", || answered.load(Ordering::Relaxed) >= before + count);
    };
    let asking = || {
        let mut client = example.client();
        while !done.load(Ordering::Relaxed) {
            let answer = ask(&mut client, "GET", "/api/products/p-00001", "", "");
            assert_eq!(answer.status, 200, "{}", answer.text());
            answered.fetch_add(1, Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..4).map(|_| scope.spawn(asking)).collect();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            more(200);
            for name in ["api1", "api2"] {
                example.kill(name);
                more(200);
                example.run("start");
                more(200);
            }
            example.run("deploy");
            more(200);
        }));
        done.store(true, Ordering::Relaxed);
        for client in clients {
            client.join().expect("every request was answered with 200");
        }
        outcome.expect("the processes are killed and started");
    });
}

fn stopped_it_leaves_nothing(example: &Example) {
    let names = ["hayami", "api1", "api2", "database"];
    let processes: Vec<_> = names.map(|name| example.process(name).expect("it runs")).into();
    example.run("stop");
    for id in processes {
        assert!(!runs(id), "process {id} is left");
    }
    let left = |name: &str| example.dir.path(&format!("run/{name}.pid")).exists();
    assert!(names.iter().all(|name| !left(name)), "no process ids are left");
    assert!(!example.run("status").contains("process"));
}

#[test]
fn a_command_that_does_not_exist_is_answered_with_the_usage() {
    let wrong: [&[&str]; 4] = [&[], &["begin"], &["start", "-p"], &["start", "-x", "1"]];
    for args in wrong {
        let output = Command::new(RUN).args(args).stdin(Stdio::null()).output().expect("it starts");
        assert_eq!(output.status.code(), Some(64), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stderr).starts_with("usage: run start"), "{args:?}");
    }
}
