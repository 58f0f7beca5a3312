//! Sets directives in tests as a line of a configuration would.

use super::{access_log, env, error_doc, expires, headers, proxy, redirect};
use crate::config::directive::{Directive, Level, Scope};
use crate::config::settings::{GlobalSettings, HandlerSettings, HostSettings, Inherited};
use crate::config::source::Sources;
use crate::config::yaml;

/// The settings that lines have made so far.
#[derive(Default)]
pub(crate) struct Setting {
    pub(crate) inherited: Inherited,
    pub(crate) handlers: Vec<HandlerSettings>,
}

impl Setting {
    /// Sets what `line` says, with directives of the modules above. The error is its message and its help.
    pub(crate) fn set(&mut self, level: Level, line: &str) -> Result<(), String> {
        let tables: [&[Directive]; 7] = [
            access_log::DIRECTIVES,
            env::DIRECTIVES,
            error_doc::DIRECTIVES,
            expires::DIRECTIVES,
            headers::DIRECTIVES,
            proxy::DIRECTIVES,
            redirect::DIRECTIVES,
        ];
        let root = yaml::read_text("test", line, &mut Sources::default()).map_err(|e| e.message)?;
        for (key, value) in root.mapping().map_err(|e| e.message)? {
            let name = key.text().map_err(|e| e.message)?;
            let directive = tables.into_iter().flatten().find(|d| d.name == name).expect("a known directive");
            assert!(directive.levels.contains(level), "{name} stands on {level:?}");
            let mut scope = Scope {
                level,
                global: &mut GlobalSettings::default(),
                host: Some(&mut HostSettings::default()),
                inherited: &mut self.inherited,
                handlers: Some(&mut self.handlers),
            };
            (directive.set)(&mut scope, value).map_err(|e| match e.help.as_str() {
                "" => e.message,
                help => format!("{}; {help}", e.message),
            })?;
        }
        Ok(())
    }
}

/// The settings of these lines on the path level.
pub(crate) fn set(lines: &[&str]) -> Setting {
    let mut setting = Setting::default();
    for line in lines {
        setting.set(Level::Path, line).expect(line);
    }
    setting
}

/// What is wrong with a line.
pub(crate) fn error(line: &str) -> String {
    Setting::default().set(Level::Path, line).expect_err(line)
}
