//! Users and groups: whom the program becomes, and to whom its socket files belong.

use crate::exit::Failure;
use nix::unistd::{Gid, Group, Uid, User, geteuid, initgroups, setgid, setuid};
use std::ffi::CString;

/// The user that h2o and nginx become when root starts them and names nobody else.
const UNPRIVILEGED: &str = "nobody";

/// Whom to become: `configured`, or `nobody` if root starts the program and says nothing.
///
/// # Errors
/// There is no such user, or only root could become it.
pub(crate) fn find(configured: Option<&str>) -> Result<Option<User>, Failure> {
    let name = match (configured, geteuid().is_root()) {
        (Some(name), _) => name,
        (None, true) => UNPRIVILEGED,
        (None, false) => return Ok(None),
    };
    let user = named(name)?;
    if user.uid != geteuid() && !geteuid().is_root() {
        return Err(Failure::NoPermission(format!(
            "only root can become the user `{name}`: start as root, or leave out `user`"
        )));
    }
    Ok(Some(user))
}

/// Becomes `user` for good: groups first, since a plain user can no longer change them.
///
/// # Errors
/// The system refused.
pub(crate) fn become_user(user: &User) -> Result<(), Failure> {
    if user.uid == geteuid() {
        return Ok(());
    }
    let name = CString::new(user.name.as_str()).unwrap_or_default();
    initgroups(&name, user.gid)
        .and_then(|()| setgid(user.gid))
        .and_then(|()| setuid(user.uid))
        .map_err(|error| Failure::NoPermission(format!("cannot become the user `{}`: {error}", user.name)))
}

/// The user of that name.
///
/// # Errors
/// There is none.
pub(crate) fn named(name: &str) -> Result<User, Failure> {
    User::from_name(name).ok().flatten().ok_or_else(|| {
        Failure::Config(format!("hayami: there is no user `{name}`; `getent passwd` lists those there are"))
    })
}

/// Owner and group of a socket file by their names.
///
/// # Errors
/// There is no such user or group.
pub(crate) fn owner(user: Option<&str>, group: Option<&str>) -> Result<(Option<Uid>, Option<Gid>), Failure> {
    let user = user.map(named).transpose()?;
    let group = match group {
        Some(name) => Some(group_named(name)?),
        None => user.as_ref().map(|user| user.gid),
    };
    Ok((user.map(|user| user.uid), group))
}

fn group_named(name: &str) -> Result<Gid, Failure> {
    let group = Group::from_name(name).ok().flatten();
    group.map(|group| group.gid).ok_or_else(|| {
        Failure::Config(format!("hayami: there is no group `{name}`; `getent group` lists those there are"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_user_is_a_configuration_error() {
        let error = find(Some("no-such-user-here")).expect_err("unknown");
        assert_eq!(error.code(), 78);
        assert!(error.to_string().contains("getent passwd"));
    }

    #[test]
    fn root_without_a_user_becomes_nobody() {
        let found = find(None).expect("nobody exists");
        assert_eq!(found.map(|user| user.name), geteuid().is_root().then(|| "nobody".to_owned()));
    }
}
