//! The writer thread.

use super::command::Command;
use super::loss::Loss;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// A message to the writer.
#[derive(Debug)]
pub(super) enum Message {
    /// Whole lines for one of the writer's outputs.
    Lines { output: usize, lines: Vec<u8> },
    /// All workers have ended: write what was queued before this, and exit.
    Stop,
}

/// Where lines end up.
#[derive(Debug)]
pub(super) enum Output {
    /// A file opened for appending: lines of several processes never mix.
    File(File),
    /// A command's standard input.
    Command(Command),
    /// A simulated disk with space for so many more bytes, and its content.
    #[cfg(test)]
    Narrow(usize, Vec<u8>),
}

/// An output and its state.
#[derive(Debug)]
pub(super) struct Outlet {
    pub(super) output: Output,
    pub(super) loss: Arc<Loss>,
    /// Whether the last write ended within a line.
    pub(super) torn: bool,
}

/// Writes the lines received from `queue` until it is stopped.
pub(super) fn run(queue: &Receiver<Message>, outlets: Vec<Outlet>) {
    let mut outlets = outlets;
    while let Ok(Message::Lines { output, lines }) = queue.recv() {
        if let Some(outlet) = outlets.get_mut(output) {
            outlet.write(&lines);
            outlet.loss.settle(&lines);
        }
    }
    for outlet in outlets {
        outlet.loss.close();
        if let Output::Command(command) = outlet.output {
            command.close();
        }
    }
}

impl Outlet {
    fn write(&mut self, lines: &[u8]) {
        if std::mem::take(&mut self.torn) && self.output.write(b"\n").is_err() {
            self.torn = true;
        }
        let mut rest = lines;
        match write_all(&mut self.output, &mut rest) {
            Ok(()) => self.loss.works(),
            Err(error) => {
                self.torn |= rest.len() < lines.len() && lines[lines.len() - rest.len() - 1] != b'\n';
                self.loss.add(rest, &error.to_string());
            }
        }
    }
}

/// Writes all of `rest`, in one piece if the system permits. What could not be written remains in `rest`.
fn write_all(output: &mut Output, rest: &mut &[u8]) -> io::Result<()> {
    while !rest.is_empty() {
        match output.write(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => *rest = &rest[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => output.recover(error)?,
        }
    }
    Ok(())
}

impl Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Command(command) => command.write(bytes),
            #[cfg(test)]
            Self::Narrow(0, _) => Err(io::ErrorKind::StorageFull.into()),
            #[cfg(test)]
            Self::Narrow(room, disk) => {
                let fits = bytes.len().min(*room);
                *room -= fits;
                disk.write(&bytes[..fits])
            }
        }
    }

    /// Restarts a command that has exited.
    fn recover(&mut self, error: io::Error) -> io::Result<()> {
        match self {
            Self::Command(command) if error.kind() == io::ErrorKind::BrokenPipe => command.restart(),
            _ => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outlet(output: Output) -> Outlet {
        Outlet { output, loss: Arc::new(Loss::new("test".to_owned())), torn: false }
    }

    #[test]
    fn a_full_disk_is_an_error_to_count_and_no_more() {
        let mut outlet = outlet(Output::File(File::options().append(true).open("/dev/full").unwrap()));
        outlet.write(b"a\nb\n");
        outlet.write(b"c\n");
        assert!(!outlet.torn, "nothing was written, so nothing is torn");
    }

    #[test]
    fn a_line_torn_by_a_full_disk_does_not_run_into_the_next() {
        let cases: [(usize, &[u8]); 4] =
            [(3, b"one\nthree\n"), (4, b"one\nthree\n"), (6, b"one\ntw\nthree\n"), (8, b"one\ntwo\nthree\n")];
        for (room, want) in cases {
            let mut outlet = outlet(Output::Narrow(room, Vec::new()));
            outlet.write(b"one\ntwo\n");
            if let Output::Narrow(room, _) = &mut outlet.output {
                *room = 100;
            }
            outlet.write(b"three\n");
            let Output::Narrow(_, disk) = outlet.output else { unreachable!("made above") };
            assert_eq!(disk, want, "room for {room}");
        }
    }
}
