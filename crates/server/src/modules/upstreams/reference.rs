//! The upstreams that a directive names: a group by its name, or upstreams of its own.

use super::{Settings, read};
use crate::config::directive::Scope;
use crate::config::error::ConfigError;
use crate::config::settings::HandlerSetting;
use crate::config::yaml::Node;
use crate::modules::proxy::Url;

/// The upstreams that a directive uses.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The index of their group.
    pub group: usize,
    /// The path of the URL that names a group; otherwise each upstream has its own.
    pub path: Option<String>,
}

impl HandlerSetting for Reference {
    fn upstream_group(&self) -> Option<usize> {
        Some(self.group)
    }
}

/// Reads a URL, or another form that specifies upstreams.
///
/// # Errors
/// The node is malformed.
pub(in crate::modules) fn reference(scope: &mut Scope<'_>, node: &Node) -> Result<Reference, ConfigError> {
    if let Some(reference) = named(scope, node)? {
        return Ok(reference);
    }
    let group = read::group(node)?;
    Ok(Reference { group: scope.global.get_mut::<Settings>().add(group), path: None })
}

/// A URL whose host is the name of a group.
fn named(scope: &mut Scope<'_>, node: &Node) -> Result<Option<Reference>, ConfigError> {
    let Some(text) = node.text().ok().filter(|_| scope.global.get_mut::<Settings>().has_names()) else {
        return Ok(None);
    };
    let authority = text.split_once("://").and_then(|(_, rest)| rest.split('/').next());
    let Some(group) = authority.and_then(|name| scope.global.get_mut::<Settings>().find(name)) else {
        return Ok(None);
    };
    let url = Url::read(node)?;
    if !text.starts_with("http://") {
        let error = node.error(format!("`{}` is the name of an upstream group", url.authority));
        let help =
            format!("write `http://{}{}`: the URLs in the group set the protocol", url.authority, url.path);
        return Err(error.help(help));
    }
    scope.global.get_mut::<Settings>().groups[group].used = true;
    Ok(Some(Reference { group, path: Some(url.path) }))
}
