//! Attributes: the keys of a directive whose argument is a mapping, defined in a table like directives.

use super::error::ConfigError;
use super::nearest;
use super::yaml::Node;

/// One key of a mapping that is read into an `S`.
pub struct Attribute<S: 'static> {
    /// The key.
    pub name: &'static str,
    /// Its value, for the manual.
    pub argument: &'static str,
    /// Its default, for the manual; `""` if it has none.
    pub default: &'static str,
    /// One or two sentences for the manual.
    pub help: &'static str,
    /// Reads the value.
    pub set: fn(&mut S, &Node) -> Result<(), ConfigError>,
}

/// Reads the mapping `node` of the directive or attribute `of` into `settings`.
///
/// # Errors
/// The first key that is unknown, or whose value is wrong.
pub fn read<S>(
    table: &'static [Attribute<S>],
    of: &str,
    settings: &mut S,
    node: &Node,
) -> Result<(), ConfigError> {
    let Ok(pairs) = node.mapping() else {
        return Err(not_a_mapping(of, table[0].name, node));
    };
    for (key, value) in pairs {
        let name = key.text().map_err(|_| key.expected(&format!("the name of a key of `{of}`")))?;
        let row = table.iter().find(|row| row.name == name).ok_or_else(|| unknown(table, of, key, name))?;
        (row.set)(settings, value).map_err(|error| named(error, name))?;
    }
    Ok(())
}

/// A bare value is usually meant for the first key.
fn not_a_mapping(of: &str, first: &str, node: &Node) -> ConfigError {
    let error = node.expected(&format!("a mapping, such as `{of}: {{{first}: …}}`"));
    match node.text() {
        Ok(text) if text.contains(['/', '.', ':']) => {
            error.help(format!("write `{of}: {{{first}: {text}}}`"))
        }
        _ => error,
    }
}

fn unknown<S>(table: &'static [Attribute<S>], of: &str, key: &Node, name: &str) -> ConfigError {
    let error = key.error(format!("unknown key `{name}` in `{of}`"));
    // `key` for `key-file` has a large distance, but is a likely mistake.
    let longer = table.iter().map(|row| row.name).find(|row| name.len() > 2 && row.starts_with(name));
    match nearest::nearest(name, table.iter().map(|row| row.name)).or(longer) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => {
            let names: Vec<_> = table.iter().map(|row| row.name).collect();
            error.help(format!("supported keys: {}", names.join(", ")))
        }
    }
}

/// Adds the key to "expected …", which does not name it.
fn named(mut error: ConfigError, name: &str) -> ConfigError {
    if error.message.starts_with("expected") {
        error.message = format!("`{name}`: {}", error.message);
    }
    error
}
