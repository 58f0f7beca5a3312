//! `hayami -t`: is the configuration right, and what does it mean?

use crate::args::Args;
use crate::error_log::Console;
use crate::exit::{Failure, print};
use crate::{site, workers};
use hayami_server::config::effective;

/// Checks everything that can be checked without listening: the configuration, the folders it names, the
/// user. With `-v` prints what holds for every host and path.
///
/// # Errors
/// What serving would fail with.
pub(crate) fn check(args: &Args) -> Result<(), Failure> {
    let loaded = site::load(args)?.loaded;
    crate::user::find(loaded.settings.global.process.user.as_deref())?;
    workers::rehearse(&loaded.settings)?;
    workers::acceptors(&loaded.settings)?;
    workers::warn_of_unreachable(&loaded.settings, &Console::default());
    if args.verbose {
        print(&effective::text(&loaded))?;
    }
    print("configuration OK\n")
}
