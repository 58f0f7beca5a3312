//! Other people's servers, started for one test: memcached, Redis, nginx, HAProxy, openssl's OCSP responder.

use super::{Scratch, until};
use rustix::process::{Pid, Signal, kill_process};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server that ends with its test.
pub(crate) struct Peer {
    child: Child,
    /// Where it listens, on 127.0.0.1.
    pub(crate) port: u16,
}

impl Peer {
    /// memcached.
    #[track_caller]
    pub(crate) fn memcached() -> Self {
        let port = free_port();
        let number = port.to_string();
        // Root must name the user to become; other users stay as they are.
        Self::start(port, "memcached", &["-l", "127.0.0.1", "-p", &number, "-U", "0", "-u", "nobody"])
    }

    /// Redis, which keeps nothing on disk.
    #[track_caller]
    pub(crate) fn redis(dir: &Scratch) -> Self {
        Self::redis_with(dir, &[])
    }

    /// The same with these arguments.
    #[track_caller]
    pub(crate) fn redis_with(dir: &Scratch, args: &[&str]) -> Self {
        let port = free_port();
        let (number, folder) = (port.to_string(), dir.text(""));
        let own =
            ["--bind", "127.0.0.1", "--port", &number, "--save", "", "--appendonly", "no", "--dir", &folder];
        Self::start(port, "redis-server", &[&own, args].concat())
    }

    /// nginx, with these lines in its one server; `DIR` stands for the folder. The log format `conn` is the
    /// number of the connection.
    #[track_caller]
    pub(crate) fn nginx(dir: &Scratch, lines: &str) -> Self {
        Self::nginx_speaking(dir, "", lines)
    }

    /// The same, with this after the listen address: `ssl`.
    #[track_caller]
    pub(crate) fn nginx_speaking(dir: &Scratch, protocol: &str, lines: &str) -> Self {
        Self::nginx_by(dir, free_port(), "worker_processes 1", protocol, lines)
    }

    /// nginx at that port, as one process that ends at once with [`stop`](Self::stop); it writes a line for each
    /// request to the file `access`.
    #[track_caller]
    pub(crate) fn nginx_at(dir: &Scratch, port: u16, lines: &str) -> Self {
        Self::nginx_by(dir, port, "master_process off", "", &format!("access_log DIR/access conn; {lines}"))
    }

    #[track_caller]
    fn nginx_by(dir: &Scratch, port: u16, processes: &str, protocol: &str, lines: &str) -> Self {
        let temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path DIR/temp;"));
        let text = format!(
            "daemon off; {processes}; pid DIR/nginx.pid; error_log DIR/nginx.err;
events {{}}
http {{ {} access_log \
             off; log_format conn '$connection $request';
server {{ listen 127.0.0.1:{port} {protocol}; {lines} }} }}
",
            temp.join(" ")
        );
        dir.write("nginx.conf", text.replace("DIR", &dir.text("")));
        Self::start(port, "nginx", &["-c", &dir.text("nginx.conf"), "-e", &dir.text("nginx.err")])
    }

    /// PHP-FPM with this many processes, and these lines for its pool. `None`: it is not installed.
    #[track_caller]
    pub(crate) fn php_fpm(dir: &Scratch, processes: usize, lines: &str) -> Option<Self> {
        Self::php_fpm_at(free_port(), dir, processes, lines)
    }

    /// The same on that port.
    #[track_caller]
    pub(crate) fn php_fpm_at(port: u16, dir: &Scratch, processes: usize, lines: &str) -> Option<Self> {
        let program = super::php_fpm()?;
        let text = format!(
            "[global]\ndaemonize = no\nerror_log = {}\n[www]\nlisten = 127.0.0.1:{port}\nuser = nobody\npm = \
             static\npm.max_children = {processes}\n{lines}\n",
            dir.text("fpm.log")
        );
        dir.write("fpm.conf", text);
        Some(Self::start(port, &program, &["-F", "-n", "-y", &dir.text("fpm.conf")]))
    }

    /// PHP-FPM with the pool that Debian ships, but for where its socket is. Root starts it. `None`: it is not installed.
    #[track_caller]
    pub(crate) fn php_fpm_of_debian(dir: &Scratch, socket: &str) -> Option<Self> {
        let program = super::php_fpm()?;
        let text = format!(
            "[global]\ndaemonize = no\nerror_log = {}\n[www]\nuser = www-data\ngroup = www-data\nlisten = {}\n\
             listen.owner = www-data\nlisten.group = www-data\npm = dynamic\npm.max_children = 5\n\
             pm.start_servers = 2\npm.min_spare_servers = 1\npm.max_spare_servers = 3\n",
            dir.text("fpm.log"),
            dir.text(socket)
        );
        dir.write("fpm.conf", text);
        let is_ready =
            || std::fs::read_to_string(dir.path("fpm.log")).is_ok_and(|log| log.contains("ready to handle"));
        Some(Self::start_until(0, &program, &["-F", "-n", "-y", &dir.text("fpm.conf")], is_ready))
    }

    /// HAProxy, which passes connections on to that server; `options` are that server's.
    #[track_caller]
    pub(crate) fn haproxy(dir: &Scratch, to: &str, options: &str) -> Self {
        let port = free_port();
        let text = format!(
            "global\n  maxconn 100\ndefaults\n  mode tcp\n  timeout connect 10s\n  timeout client 10s\n  timeout \
             server 10s\nlisten own\n  bind 127.0.0.1:{port}\n  server hayami {to} {options}\n"
        );
        dir.write("haproxy.conf", text);
        Self::start(port, "haproxy", &["-db", "-f", &dir.text("haproxy.conf")])
    }

    /// nghttpd, for the files in the folder `site`, on that port: over HTTP/2 only, without TLS or with the
    /// certificate of the authority in the folder `tls`.
    #[track_caller]
    pub(crate) fn nghttpd(dir: &Scratch, port: u16, secure: bool) -> Self {
        let (number, site) = (port.to_string(), dir.text("site"));
        let (key, certificate) = (dir.text("tls/leaf.key"), dir.text("tls/leaf.pem"));
        let last: &[&str] = if secure { &[&number, &key, &certificate] } else { &["--no-tls", &number] };
        Self::start(port, "nghttpd", &[&["-a", "127.0.0.1", "-d", &site], last].concat())
    }

    /// Python's own server, for the files in that folder.
    #[track_caller]
    pub(crate) fn python(dir: &Scratch, folder: &str) -> Self {
        let port = free_port();
        let (number, folder) = (port.to_string(), dir.text(folder));
        let place = ["--bind", "127.0.0.1", "--directory", &folder, &number];
        Self::start(port, "python3", &[&["-m", "http.server"], &place[..]].concat())
    }

    /// An OCSP responder for the certificates in the index of the authority in the folder `tls`. The port was
    /// chosen before, since the certificates name it.
    #[track_caller]
    pub(crate) fn ocsp(dir: &Scratch, port: u16) -> Self {
        let (number, index) = (port.to_string(), dir.text("tls/index.txt"));
        let (ca, key) = (dir.text("tls/ca.pem"), dir.text("tls/ca.key"));
        let files = ["-index", &index, "-CA", &ca, "-rsigner", &ca, "-rkey", &key];
        Self::start(port, "openssl", &[&["ocsp", "-port", &number, "-ndays", "1"], &files[..]].concat())
    }

    #[track_caller]
    fn start(port: u16, program: &str, args: &[&str]) -> Self {
        Self::start_until(port, program, args, || listens(port))
    }

    #[track_caller]
    fn start_until(port: u16, program: &str, args: &[&str], is_ready: impl Fn() -> bool) -> Self {
        let mut command = Command::new(program);
        let command = command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap_or_else(|error| panic!("{program}: {error}"));
        let mut peer = Self { child, port };
        until(&format!("{program} listens"), || {
            let ended = peer.child.try_wait().expect("a child");
            assert!(ended.is_none(), "{program} {args:?} ended: {ended:?}");
            is_ready()
        });
        peer
    }

    /// Ends it before the test ends.
    pub(crate) fn stop(mut self) {
        self.end();
    }

    /// Asks it to end, so that it ends its own children too, and makes sure of it.
    fn end(&mut self) {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let (Some(id), Ok(None)) = (id, self.child.try_wait()) {
            let _ = kill_process(id, Signal::TERM);
            let begin = Instant::now();
            while matches!(self.child.try_wait(), Ok(None)) && begin.elapsed() < Duration::from_secs(3) {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.end();
    }
}

/// Whether there is a listener, according to /proc: an idle connection would keep openssl's responder busy
/// forever.
pub(crate) fn listens(port: u16) -> bool {
    let end = format!(":{port:04X}");
    let tables =
        ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| std::fs::read_to_string(path).unwrap_or_default());
    tables.iter().flat_map(|table| table.lines()).any(|line| {
        let mut columns = line.split_whitespace().skip(1);
        // The local address, the remote one, and the state: 0A is LISTEN.
        columns.next().is_some_and(|local| local.ends_with(&end)) && columns.nth(1) == Some("0A")
    })
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}
