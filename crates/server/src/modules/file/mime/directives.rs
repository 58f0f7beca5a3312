//! The setters of `file.mime.*`; their definitions are in the table of all `file.*` directives.

use super::MediaType;
use crate::config::directive::Scope;
use crate::config::error::ConfigError;
use crate::config::yaml::{Node, Value};
use crate::modules::file;

pub(in crate::modules::file) fn set_types(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    scope.inherited.get_mut::<file::Settings>().mime.clear();
    add_types(scope, node)
}

pub(in crate::modules::file) fn add_types(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    for (name, value) in node.mapping()? {
        let (media_type, extensions) = match &value.value {
            Value::Mapping(_) => {
                let extensions =
                    value.get("extensions").ok_or_else(|| value.error("`extensions` is missing"))?;
                (with_attributes(name, value)?, extensions)
            }
            _ => (media_type(name)?, value),
        };
        for extension in extensions.one_or_many() {
            let extension = extension_of(scope, extension)?;
            scope.inherited.get_mut::<file::Settings>().mime.add(extension, media_type.clone());
        }
    }
    Ok(())
}

pub(in crate::modules::file) fn remove_types(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    for extension in node.one_or_many() {
        let extension = extension_of(scope, extension)?;
        scope.inherited.get_mut::<file::Settings>().mime.remove(extension);
    }
    Ok(())
}

pub(in crate::modules::file) fn set_default_type(
    scope: &mut Scope<'_>,
    node: &Node,
) -> Result<(), ConfigError> {
    let media_type = match &node.value {
        Value::Mapping(pairs) => match &pairs[..] {
            [(name, attributes)] => with_attributes(name, attributes)?,
            _ => return Err(node.expected("one media type")),
        },
        _ => media_type(node)?,
    };
    scope.inherited.get_mut::<file::Settings>().mime.set_default(media_type);
    Ok(())
}

/// `{extensions: …, is_compressible: YES, priority: highest}`
fn with_attributes(name: &Node, attributes: &Node) -> Result<MediaType, ConfigError> {
    let mut media_type = media_type(name)?;
    for (key, value) in attributes.mapping()? {
        match key.one_of(&["extensions", "is_compressible", "priority"])? {
            0 => {}
            1 => media_type.compressible = value.one_of(&["NO", "YES"])? == 1,
            _ => media_type.high_priority = value.one_of(&["normal", "highest"])? == 1,
        }
    }
    Ok(media_type)
}

fn media_type(node: &Node) -> Result<MediaType, ConfigError> {
    let text = node.text()?;
    let graphic = text.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
    match text.split_once('/') {
        Some((kind, rest)) if !kind.is_empty() && !rest.is_empty() && graphic => Ok(MediaType::new(text)),
        _ => Err(node.expected("a media type such as `text/plain`")),
    }
}

/// The extension without its dot, which is required in the configuration, as in h2o.
pub(in crate::modules::file) fn extension_of<'n>(
    scope: &mut Scope<'_>,
    node: &'n Node,
) -> Result<&'n str, ConfigError> {
    match node.text()?.strip_prefix('.') {
        Some(extension) if extension.is_empty() || extension.contains('/') => {
            Err(node.expected("an extension such as `.txt`"))
        }
        Some(extension) => {
            if extension.contains('.') {
                let warning = node.error(format!("the extension `.{extension}` matches no file"));
                scope.warn(warning.help("an extension starts at the last dot of a name"));
            }
            Ok(extension)
        }
        None => Err(node.expected("an extension").help(format!("write `.{}`", node.text()?))),
    }
}
