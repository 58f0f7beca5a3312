//! Starting the program: arguments, folder, limits, user.

use super::{PATIENCE, Scratch, Server, skip};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The program that cargo built for these tests.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_hayami");

/// How to start the program.
pub(crate) struct Launch {
    command: Command,
    args: Vec<OsString>,
}

/// A program that has ended by itself.
#[derive(Debug)]
pub(crate) struct Finished {
    /// The exit code; -1 after a signal.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

impl Launch {
    /// With these arguments.
    pub(crate) fn new<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Self {
        let args: Vec<OsString> = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        let mut command = Command::new(PROGRAM);
        command.args(&args);
        Self { command, args }
    }

    /// With a configuration file `hayami.conf` with this text in the folder, whose path replaces `DIR`.
    /// Unless the text has a `listen`, on any free local port.
    pub(crate) fn config(dir: &Scratch, text: &str) -> Self {
        let listen = if text.contains("listen:") { "" } else { "listen: 127.0.0.1:0\n" };
        let text = format!("{listen}{text}").replace("DIR", &dir.text(""));
        dir.write("hayami.conf", text);
        Self::new([OsStr::new("-c"), dir.path("hayami.conf").as_os_str()])
    }

    /// By a shell that does something before it becomes the program: `ulimit -n 64`.
    pub(crate) fn after(mut self, shell: &str) -> Self {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(format!("{shell}; exec \"$0\" \"$@\"")).arg(PROGRAM).args(&self.args);
        if let Some(folder) = self.command.get_current_dir() {
            command.current_dir(folder);
        }
        self.command = command;
        self
    }

    /// Checks the configuration with `-t` and these arguments.
    #[track_caller]
    pub(crate) fn finish_test(mut self, args: &[&str]) -> Finished {
        self.command.arg("-t").args(args);
        self.finish()
    }

    /// In this working directory.
    pub(crate) fn within(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// With this environment variable.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// By another user, as root can.
    pub(crate) fn by(self, user: u32) -> Self {
        let Self { mut command, args } = self;
        std::os::unix::process::CommandExt::uid(&mut command, user);
        std::os::unix::process::CommandExt::gid(&mut command, user);
        Self { command, args }
    }

    /// Starts it and waits until it is ready.
    #[track_caller]
    pub(crate) fn serve(self) -> Server {
        Server::start(self.command)
    }

    /// Starts it and waits for its end.
    #[track_caller]
    pub(crate) fn finish(mut self) -> Finished {
        let command = self.command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let begin = Instant::now();
        while child.try_wait().expect("a child").is_none() {
            if begin.elapsed() > PATIENCE {
                // Its output shows why it did not end.
                let _ = child.kill();
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let output = child.wait_with_output().expect("a child");
        Finished {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Whether root runs the tests.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether root runs the tests; if not, the test is skipped with a message.
pub(crate) fn needs_root() -> bool {
    if !is_root() {
        skip(ONLY_ROOT);
    }
    is_root()
}

/// `.ci/run` recognizes this text: a run by an ordinary user may skip for no other reason.
const ONLY_ROOT: &str = "only root can try this";
