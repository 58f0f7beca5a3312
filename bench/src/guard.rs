//! Ensures that nothing outlives a race: a second process holds one end of a pipe, is sent the id of every
//! server started and, however the race ends, terminates the remaining servers and removes the folder of
//! configuration files. An interrupt from the terminal does not reach it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::cost;

/// The race's side. Dropping it makes the guard clean up, and waits for that.
pub(crate) struct Guard {
    child: Child,
    pipe: Mutex<Option<ChildStdin>>,
    /// The folder for configuration files and documents; any user may read it, since servers
    /// started by root serve as another user.
    pub(crate) folder: PathBuf,
}

impl Guard {
    /// Creates the folder and starts the guard: this same program with `--guard FOLDER`.
    ///
    /// # Errors
    /// The folder cannot be created, or the program cannot be started.
    pub(crate) fn start() -> io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("hayami-bench-{}", std::process::id()));
        fs::create_dir(&folder)?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("--guard").arg(&folder).stdin(Stdio::piped()).process_group(0);
        let mut child = command.spawn()?;
        let pipe = Mutex::new(child.stdin.take());
        Ok(Self { child, pipe, folder })
    }

    /// Registers a server that was just started.
    pub(crate) fn watch(&self, pid: u32) {
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipe) = &mut *pipe {
            // If the guard has died, the race still ends its servers itself.
            let _ = writeln!(pipe, "{pid}");
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.pipe.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = self.child.wait();
    }
}

/// The guard's side: reads process ids until the race ends, then cleans up.
pub(crate) fn stand(folder: &Path) {
    let mut watched = BTreeMap::new();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        if let Ok(pid) = line.parse::<u32>()
            && let Some(stat) = cost::stat(pid)
        {
            watched.insert(pid, stat.started);
        }
    }
    // A process id may have been reused since: compare the start time.
    watched.retain(|pid, started| cost::stat(*pid).is_some_and(|stat| stat.started == *started));
    watched.into_keys().for_each(end_tree);
    let _ = fs::remove_dir_all(folder);
}

/// Sends SIGTERM to the root of a process tree, and SIGKILL to processes still alive after two seconds.
pub(crate) fn end_tree(root: u32) {
    let processes: Vec<(u32, u64)> =
        cost::tree(root).into_iter().filter_map(|pid| Some((pid, cost::stat(pid)?.started))).collect();
    let living = |&&(pid, started): &&(u32, u64)| {
        cost::stat(pid).is_some_and(|stat| stat.started == started && stat.state != 'Z')
    };
    signal(root, Signal::TERM);
    for _ in 0..200 {
        if processes.iter().filter(living).count() == 0 {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    for (pid, _) in processes.iter().filter(living) {
        signal(*pid, Signal::KILL);
    }
}

/// Signals one process, if it still exists.
pub(crate) fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}
