//! `hayami -t`: would it start, and what does the configuration mean?

use crate::args::Args;
use crate::exit::{Failure, print};
use crate::prepare::prepare;
use hayami_server::config::effective;

/// Checks everything that a start checks before it binds its addresses. With `-v` prints what holds for every host
/// and path.
///
/// # Errors
/// What a start would fail with.
pub(crate) fn check(args: &Args) -> Result<(), Failure> {
    let prepared = prepare(args)?;
    if args.verbose {
        print(&effective::text(&prepared.loaded))?;
    }
    print("configuration OK\n")
}
