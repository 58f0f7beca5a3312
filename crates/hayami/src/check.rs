//! `hayami -t`: checks whether the server would start, and prints the effective configuration.

use crate::args::Args;
use crate::exit::{Failure, print};
use crate::prepare::prepare;
use crate::site;
use hayami_server::effective;

/// Checks everything that a start checks before it binds its addresses. With `-v` prints what is
/// set, with `-vv` the defaults too.
///
/// # Errors
/// The failures of a start.
pub(crate) fn check(args: &Args) -> Result<(), Failure> {
    let prepared = prepare(args, None, &|warnings| eprint!("{warnings}"))?;
    if args.verbose > 0 {
        print(&effective::text(&prepared.loaded, args.verbose > 1))?;
    }
    match &args.conf {
        Some(_) => print("configuration OK\n"),
        None => print(&format!("{}\n", site::outlook(args)?)),
    }
}
