//! Reports into files: checked before the run, written after it.

use super::args::Args;
use super::reach::reason;
use crate::exit::{self, Failure};
use hayami_load::report::{self, Report};
use std::fs::{self, OpenOptions};
use std::path::Path;

type Format = fn(&Report<'_>) -> String;

/// The requested files, with their contents.
fn files(args: &Args) -> impl Iterator<Item = (&Path, Format)> {
    let all: [(&Option<_>, Format); 3] =
        [(&args.json, report::json), (&args.csv, report::csv), (&args.html, report::html)];
    all.into_iter()
        .filter_map(|(path, format): (&Option<std::path::PathBuf>, Format)| Some((path.as_deref()?, format)))
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

fn refused(path: &Path, error: &std::io::Error) -> Failure {
    Failure::CannotCreate(format!("cannot write {}: {}", path.display(), reason(error)))
}

/// Whether standard output is used for a machine-readable report.
pub(super) fn takes_stdout(args: &Args) -> bool {
    files(args).any(|(path, _)| is_stdout(path))
}

/// Makes sure, before minutes are spent, that the reports can be written.
///
/// # Errors
/// [`Failure::CannotCreate`].
pub(super) fn check(args: &Args) -> Result<(), Failure> {
    for (path, _) in files(args).filter(|(path, _)| !is_stdout(path)) {
        OpenOptions::new().create(true).append(true).open(path).map_err(|error| refused(path, &error))?;
    }
    Ok(())
}

/// Writes the reports.
///
/// # Errors
/// [`Failure::CannotCreate`].
pub(super) fn write(args: &Args, report: &Report<'_>) -> Result<(), Failure> {
    for (path, format) in files(args) {
        let text = format(report);
        match is_stdout(path) {
            true => exit::print(&text)?,
            false => fs::write(path, text).map_err(|error| refused(path, &error))?,
        }
    }
    Ok(())
}
