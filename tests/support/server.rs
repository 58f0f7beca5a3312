//! The running program.

use super::launch::Launch;
use super::{Answer, Client, Scratch, until, until_some};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

/// A running program; dropping it ends it at once.
pub(crate) struct Server {
    child: Child,
    stderr: Arc<Mutex<String>>,
    /// The first address of its banner, `127.0.0.1:40000`; empty if it listens on unix sockets only.
    pub(crate) address: String,
}

impl Server {
    /// `hayami FOLDER` on any free port.
    #[track_caller]
    pub(crate) fn folder(dir: &Scratch) -> Self {
        Launch::new(["-l", "127.0.0.1:0", &dir.text("")]).serve()
    }

    /// By a configuration; see [`Launch::config`].
    #[track_caller]
    pub(crate) fn config(dir: &Scratch, text: &str) -> Self {
        Launch::config(dir, text).serve()
    }

    /// With a configuration that serves the subfolder `site` at `/`, with these lines at the path.
    #[track_caller]
    pub(crate) fn site(dir: &Scratch, lines: &str) -> Self {
        let lines = lines.replace('\n', "\n        ");
        let head = "hosts:\n  default:\n    paths:\n      /:\n        ";
        Self::config(dir, &format!("{head}{lines}\n        file.dir: DIR/site\n"))
    }

    #[track_caller]
    pub(super) fn start(command: Command) -> Self {
        let mut server = Self::spawn(command);
        server.await_ready();
        server.address = server.addresses().into_iter().next().unwrap_or_default();
        server
    }

    pub(super) fn spawn(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let stderr = Arc::new(Mutex::new(String::new()));
        let pipe = BufReader::new(child.stderr.take().expect("a pipe"));
        let copy = Arc::clone(&stderr);
        std::thread::spawn(move || {
            for line in pipe.lines().map_while(Result::ok) {
                copy.lock().expect("no panic within").push_str(&(line + "\n"));
            }
        });
        Self { child, stderr, address: String::new() }
    }

    #[track_caller]
    fn await_ready(&mut self) {
        until("the program is ready", || {
            if let Some(status) = self.child.try_wait().expect("a child") {
                panic!("the program ended with {status}: {}", self.stderr());
            }
            self.stderr().lines().any(|line| line == "ready")
        });
    }

    /// The addresses of its banner, without `http://` or `https://`, and without `/`.
    pub(crate) fn addresses(&self) -> Vec<String> {
        let banner = self.stderr();
        let rows = banner.lines().filter_map(|line| line.trim().strip_prefix("address"));
        let urls = rows.filter_map(|row| row.trim().strip_prefix("http"));
        let urls = urls.filter_map(|row| row.strip_prefix("s").unwrap_or(row).strip_prefix("://"));
        urls.map(|url| url.trim_end_matches('/').to_owned()).collect()
    }

    /// The value of a name in its banner.
    pub(crate) fn banner(&self, name: &str) -> String {
        let banner = self.stderr();
        let row = banner.lines().find_map(|line| line.trim().strip_prefix(name));
        row.unwrap_or_else(|| panic!("the banner has no `{name}`: {banner}")).trim().to_owned()
    }

    /// The port of the first address.
    pub(crate) fn port(&self) -> u16 {
        self.address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("an address with a port")
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Nanoseconds of CPU time that its threads have used so far.
    pub(crate) fn cpu_nanos(&self) -> u64 {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.id())).expect("it runs").flatten();
        let nanos = |task: &std::fs::DirEntry| {
            let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<u64>().ok()
        };
        tasks.filter_map(|task| nanos(&task)).sum()
    }

    /// Bytes of the files that it has open and that have no name.
    pub(crate) fn nameless_bytes(&self) -> u64 {
        let links = std::fs::read_dir(format!("/proc/{}/fd", self.id())).expect("it runs").flatten();
        let is_nameless = |entry: &std::fs::DirEntry| {
            let target = std::fs::read_link(entry.path()).unwrap_or_default();
            let text = target.to_string_lossy();
            text.ends_with(" (deleted)") && !text.starts_with("/memfd:")
        };
        links
            .filter(is_nameless)
            .filter_map(|entry| std::fs::metadata(entry.path()).ok())
            .map(|own| own.len())
            .sum()
    }

    /// The most memory that it ever had, in bytes.
    pub(crate) fn peak_memory(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.id())).expect("it runs");
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("such a line");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
    }

    /// How many sockets it has open.
    pub(crate) fn sockets(&self) -> usize {
        let links = std::fs::read_dir(format!("/proc/{}/fd", self.id())).expect("it runs").flatten();
        let of = |entry: &std::fs::DirEntry| std::fs::read_link(entry.path()).unwrap_or_default();
        links.filter(|entry| of(entry).to_string_lossy().starts_with("socket:")).count()
    }

    /// Its output to standard error so far.
    pub(crate) fn stderr(&self) -> String {
        self.stderr.lock().expect("no panic within").clone()
    }

    /// Waits until this text is on its standard error.
    #[track_caller]
    pub(crate) fn until_stderr(&self, text: &str) {
        until(&format!("standard error says `{text}`"), || self.stderr().contains(text));
    }

    /// Connects.
    #[track_caller]
    pub(crate) fn connect(&self) -> Client {
        Client::connect(&self.address)
    }

    /// Sends bytes over a new connection; the answers until the server closes it.
    #[track_caller]
    pub(crate) fn ask(&self, bytes: impl AsRef<[u8]>) -> Vec<Answer> {
        self.connect().send(bytes).answers()
    }

    /// The answer to one GET request.
    #[track_caller]
    pub(crate) fn get(&self, target: &str) -> Answer {
        self.get_with(target, "")
    }

    /// The answer to one GET request with these field lines, each ended by CRLF. A `Host` among them
    /// takes the place of the usual one.
    #[track_caller]
    pub(crate) fn get_with(&self, target: &str, lines: &str) -> Answer {
        let host = if lines.to_ascii_lowercase().contains("host:") { "" } else { "Host: a\r\n" };
        let mut answers =
            self.ask(format!("GET {target} HTTP/1.1\r\n{host}{lines}Connection: close\r\n\r\n"));
        assert_eq!(answers.len(), 1, "one answer to {target}: {answers:?}");
        answers.remove(0)
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the program runs");
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn wait(&mut self) -> ExitStatus {
        until_some("the program ends", || self.child.try_wait().expect("a child"))
    }

    /// How it has ended, if it has.
    pub(crate) fn try_wait(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child")
    }

    /// Ends it by SIGTERM; its exit code.
    #[track_caller]
    pub(crate) fn stop(&mut self) -> Option<i32> {
        self.signal(Signal::TERM);
        self.wait().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the program's standard error:\n{}", self.stderr());
        }
    }
}
