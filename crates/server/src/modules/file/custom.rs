//! `file.custom-handler`: directives that hold for files with certain extensions only.
//!
//! No handler of this version takes an extension (FastCGI will); what can stand here are directives that
//! change responses, such as `header.set` and `expires`.

use super::mime::extension;
use crate::config::settings::{HandlerSettings, Inherited};

/// One `file.custom-handler`.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Extensions in lower case, without their dot.
    pub extensions: Vec<String>,
    /// `extension: default`: every file that no other rule is for.
    pub default: bool,
    /// Handlers, in the order written.
    pub handlers: Vec<HandlerSettings>,
    /// What holds for these files, all outer levels included.
    pub inherited: Box<Inherited>,
}

/// The rules in force; later ones go before earlier ones.
#[derive(Clone, Debug, Default)]
pub struct Rules(pub Vec<Rule>);

impl Rules {
    /// What decides which rule a file falls under.
    pub(super) fn matcher(&self) -> Matcher {
        let rules = self.0.iter().map(|rule| (rule.extensions.clone(), rule.default));
        Matcher(rules.collect())
    }
}

/// Finds the rule of a file.
pub(super) struct Matcher(Vec<(Vec<String>, bool)>);

impl Matcher {
    /// The index of the rule for the file of that path.
    pub(super) fn find(&self, path: &[u8]) -> Option<usize> {
        let extension = extension(path);
        let named = |(extensions, _): &(Vec<String>, bool)| {
            extensions.iter().any(|own| own.as_bytes().eq_ignore_ascii_case(extension))
        };
        self.0.iter().rposition(named).or_else(|| self.0.iter().rposition(|(_, default)| *default))
    }
}
