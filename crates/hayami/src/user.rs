//! Users and groups: the user that the program becomes, and the owners of its socket files.

use crate::exit::Failure;
use hayami_server::config::error::ConfigError;
use nix::unistd::{Gid, Group, Uid, User, geteuid, getgrouplist, initgroups, setgid, setuid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use std::ffi::CString;
use std::io;

/// The user that h2o and nginx become when root starts them without naming one.
const UNPRIVILEGED: &str = "nobody";

/// Why a user or group of the configuration is not available.
#[derive(Debug)]
pub(crate) enum Problem {
    /// There is no such user.
    NoUser(String),
    /// There is no such group.
    NoGroup(String),
    /// Only root could become it.
    OnlyRoot(String),
}

impl Problem {
    /// The failure; `render` shows a mistake of the configuration with its place.
    pub(crate) fn failure(self, render: impl Fn(&str, ConfigError) -> Failure) -> Failure {
        match self {
            Self::NoUser(name) => {
                let error = ConfigError::nowhere(format!("unknown user `{name}`"));
                render(&name, error.help("`getent passwd` lists the users of this machine"))
            }
            Self::NoGroup(name) => {
                let error = ConfigError::nowhere(format!("unknown group `{name}`"));
                render(&name, error.help("`getent group` lists the groups of this machine"))
            }
            Self::OnlyRoot(name) => Failure::NoPermission(format!(
                "only root can become the user `{name}`: start as root, or leave out `user`"
            )),
        }
    }
}

/// The user to become: `configured`, or `nobody` if root starts the program without naming one.
///
/// # Errors
/// There is no such user, or only root could become it.
pub(crate) fn find(configured: Option<&str>) -> Result<Option<User>, Problem> {
    let name = match (configured, geteuid().is_root()) {
        (Some(name), _) => name,
        (None, true) => UNPRIVILEGED,
        (None, false) => return Ok(None),
    };
    within_reach(name).map(Some)
}

/// The user of that name, if this process runs as it or can become it.
///
/// # Errors
/// There is no such user, or only root could become it.
pub(crate) fn within_reach(name: &str) -> Result<User, Problem> {
    let user = named(name)?;
    if user.uid != geteuid() && !geteuid().is_root() {
        return Err(Problem::OnlyRoot(name.to_owned()));
    }
    Ok(user)
}

/// Becomes `user` for good: groups first, since a plain user can no longer change them.
///
/// # Errors
/// The system refused.
pub(crate) fn become_user(user: &User) -> Result<(), Failure> {
    if user.uid == geteuid() {
        return Ok(());
    }
    initgroups(&c_name(user), user.gid)
        .and_then(|()| setgid(user.gid))
        .and_then(|()| setuid(user.uid))
        .map_err(|error| cannot_become(user, error.into()))
}

/// The result of `look` with the rights of `user`; without one, with the current ones. It runs on a separate
/// thread with that user's rights, so the result accounts for every kind of right in the kernel.
///
/// # Errors
/// The system refused the change.
pub(crate) fn with_rights_of<T: Send>(
    user: Option<&User>,
    look: impl FnOnce() -> T + Send,
) -> Result<T, Failure> {
    let Some(user) = user.filter(|user| user.uid != geteuid()) else { return Ok(look()) };
    let thread = || take_rights(user).map(|()| look()).map_err(|error| cannot_become(user, error));
    std::thread::scope(|scope| scope.spawn(thread).join())
        .unwrap_or_else(|_| Err(Failure::System("a check at the start panicked".to_owned())))
}

/// Gives only this thread the rights of `user` (setresuid(2), "C library/kernel differences").
fn take_rights(user: &User) -> io::Result<()> {
    use rustix::process::{Gid, Uid};
    let groups = getgrouplist(&c_name(user), user.gid)?;
    let groups: Vec<_> = groups.iter().map(|group| Gid::from_raw(group.as_raw())).collect();
    let (uid, gid) = (Uid::from_raw(user.uid.as_raw()), Gid::from_raw(user.gid.as_raw()));
    set_thread_groups(&groups)?;
    set_thread_res_gid(gid, gid, gid)?;
    Ok(set_thread_res_uid(uid, uid, uid)?)
}

fn c_name(user: &User) -> CString {
    CString::new(user.name.as_str()).unwrap_or_default()
}

fn cannot_become(user: &User, error: io::Error) -> Failure {
    Failure::NoPermission(format!("cannot become the user `{}`: {error}", user.name))
}

/// The user of that name.
///
/// # Errors
/// There is no such user.
pub(crate) fn named(name: &str) -> Result<User, Problem> {
    User::from_name(name).ok().flatten().ok_or_else(|| Problem::NoUser(name.to_owned()))
}

/// Owner and group of a socket file by their names or numbers.
///
/// # Errors
/// There is no such user or group.
pub(crate) fn owner(user: Option<&str>, group: Option<&str>) -> Result<(Option<Uid>, Option<Gid>), Problem> {
    let (owner, own_group) = match user.map(|user| (user.parse().ok(), user)) {
        None => (None, None),
        Some((Some(number), _)) => (Some(Uid::from_raw(number)), None),
        Some((None, name)) => {
            let user = named(name)?;
            (Some(user.uid), Some(user.gid))
        }
    };
    let group = match group.map(|group| (group.parse().ok(), group)) {
        None => own_group,
        Some((Some(number), _)) => Some(Gid::from_raw(number)),
        Some((None, name)) => Some(group_named(name)?),
    };
    Ok((owner, group))
}

fn group_named(name: &str) -> Result<Gid, Problem> {
    let group = Group::from_name(name).ok().flatten();
    group.map(|group| group.gid).ok_or_else(|| Problem::NoGroup(name.to_owned()))
}

#[cfg(test)]
#[path = "../../../tests/support/skip.rs"]
mod skip;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_user_is_a_configuration_error() {
        let problem = find(Some("no-such-user-here")).expect_err("unknown");
        let failure = problem.failure(|name, error| Failure::Config(format!("{name}: {}", error.help)));
        assert_eq!(failure.code(), 78);
        assert!(failure.to_string().contains("no-such-user-here: `getent passwd`"), "{failure}");
    }

    #[test]
    fn root_without_a_user_becomes_nobody() {
        let found = find(None).expect("nobody exists");
        assert_eq!(found.map(|user| user.name), geteuid().is_root().then(|| "nobody".to_owned()));
    }

    #[test]
    fn rights_of_another_hold_for_one_look_only() {
        let nobody = named("nobody").expect("nobody exists");
        let before = geteuid();
        if !before.is_root() {
            // The text of `needs_root`, which .ci/run recognizes.
            return super::skip::skip("only root can try this");
        }
        let seen = with_rights_of(Some(&nobody), || {
            (geteuid(), std::fs::read("/etc/shadow").map_err(|error| error.kind()))
        });
        assert_eq!(seen.expect("taken"), (nobody.uid, Err(io::ErrorKind::PermissionDenied)));
        assert_eq!(geteuid(), before, "the others keep theirs");
        assert_eq!(with_rights_of(None, geteuid).expect("our own"), before);
    }
}
